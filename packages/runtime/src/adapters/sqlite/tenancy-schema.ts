// What came with the API of tenants.

export const tenancyStatements: readonly string[] = [];
