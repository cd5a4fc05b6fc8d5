// The tables of what replicas share: who lives, who has which role, the fair queue's clock, and what each writer wrote last.

export const fleetTables: readonly string[] = [
  `CREATE TABLE replicas (
    replica TEXT COLLATE "C" NOT NULL,
    grpc_address TEXT NOT NULL,
    draining BIGINT NOT NULL,
    lanes_json TEXT NOT NULL,
    lives_until BIGINT NOT NULL,
    released BIGINT NOT NULL,
    PRIMARY KEY (replica)
  )`,
  `CREATE TABLE roles (
    role TEXT COLLATE "C" NOT NULL,
    replica TEXT COLLATE "C" NOT NULL,
    held_until BIGINT NOT NULL,
    PRIMARY KEY (role)
  )`,
  // One row each; a row that is only ever updated.
  `CREATE TABLE revision (one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1), revision BIGINT NOT NULL)`,
  `INSERT INTO revision (one, revision) VALUES (1, 0)`,
  `CREATE TABLE fair_clock (one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1), v DOUBLE PRECISION NOT NULL)`,
  `INSERT INTO fair_clock (one, v) VALUES (1, 0)`,
  `CREATE TABLE outbox_base (one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1), base BIGINT NOT NULL)`,
  `INSERT INTO outbox_base (one, base) VALUES (1, 0)`,
  `CREATE TABLE fair_tenants (
    tenant TEXT COLLATE "C" NOT NULL,
    finish DOUBLE PRECISION NOT NULL,
    step DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (tenant)
  )`,
  // The number of the last transaction that a writer committed: what it asks for when the answer to a COMMIT was lost.
  `CREATE TABLE writers (
    writer TEXT COLLATE "C" NOT NULL,
    batch BIGINT NOT NULL,
    opened_at BIGINT NOT NULL,
    PRIMARY KEY (writer)
  )`,
];
