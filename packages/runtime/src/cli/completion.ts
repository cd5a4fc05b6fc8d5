// Writes shell completion scripts from the tree of commands.

export interface CommandTree {
  readonly name: string;
  readonly description: string;
  /** Long flags, `--json`. */
  readonly options: readonly string[];
  readonly commands: readonly CommandTree[];
}

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Every command with the words that lead to it; the program itself has none. */
interface Place {
  readonly path: readonly string[];
  readonly tree: CommandTree;
}

function places(tree: CommandTree, path: readonly string[] = []): readonly Place[] {
  return [{ path, tree }, ...tree.commands.flatMap((child) => places(child, [...path, child.name]))];
}

export function completionScript(shell: Shell, program: CommandTree): string {
  switch (shell) {
    case "bash":
      return bash(program);
    case "zsh":
      // zsh runs bash completions by itself; one script to keep right instead of two.
      return `#compdef ${program.name}\nautoload -U +X bashcompinit && bashcompinit\n${bash(program)}`;
    case "fish":
      return fish(program);
  }
}

const words = (tree: CommandTree): string => [...tree.commands.map(({ name }) => name), ...tree.options].join(" ");

function bash(program: CommandTree): string {
  const cases = places(program)
    .map(({ path, tree }) => `    "${path.join(" ")}") words="${words(tree)}" ;;`)
    .join("\n");
  const groups = places(program)
    .flatMap(({ path, tree }) =>
      tree.commands.length === 0 ? [] : tree.commands.map(({ name }) => `"${[...path, name].join(" ")}"`),
    )
    .join("|");
  return `# ${program.name} completion for bash: source this file, or write it to a folder of bash-completion.
_${program.name}() {
  local word="\${COMP_WORDS[COMP_CWORD]}" path="" words="" longer i
  for ((i = 1; i < COMP_CWORD; i++)); do
    longer="\${path:+$path }\${COMP_WORDS[i]}"
    case "$longer" in
    ${groups}) path="$longer" ;;
    esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -F _${program.name} ${program.name}
`;
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, (one) => `\\${one}`)}'`;

function fish(program: CommandTree): string {
  const lines = places(program).flatMap(({ path, tree }) => {
    const condition = quoted(
      path.length === 0
        ? "__fish_use_subcommand"
        : path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and "),
    );
    const names = tree.commands.map(({ name }) => name);
    const only =
      path.length === 0 || names.length === 0
        ? condition
        : quoted(
            `${path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ")}; and not __fish_seen_subcommand_from ${names.join(" ")}`,
          );
    return [
      ...tree.commands.map(
        (child) => `complete -c ${program.name} -n ${only} -f -a ${child.name} -d ${quoted(child.description)}`,
      ),
      ...tree.options.map((flag) => `complete -c ${program.name} -n ${condition} -l ${flag.replace(/^--/, "")}`),
    ];
  });
  return `# ${program.name} completion for fish: write this to ~/.config/fish/completions/${program.name}.fish\n${lines.join("\n")}\n`;
}
