// The scripts that make shells ask `signalbox __complete` what may come next, and the lines in which it answers.
import type { Candidate } from "./completion-words.ts";
import { plainLine } from "./text.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

export const completeCommand = "__complete";

/** What the shell does: offers the lines that follow, or the names of files or folders that it sees itself. */
export type Mode = "words" | "files" | "folders";

/** The mode on a line of its own, then `value<tab>description` lines. */
export function completionLines(mode: Mode, candidates: readonly Candidate[]): string {
  const lines = candidates
    // A shell inserts it as it is: what it would read otherwise, or run, is not offered.
    .filter(({ value }) => /^[\w.:@/+,%^-][\w.:@/+,%^=-]*$/.test(value))
    .map(({ value, description }) => `${value}\t${plainLine(description)}`);
  return [mode, ...lines].map((line) => `${line}\n`).join("");
}

export function completionScript(shell: Shell): string {
  return { bash, zsh, fish }[shell];
}

// Bash cuts words at `:`, `=` and `@` too, and wants the part behind the last cut only. Works from bash 3.2 on.
const bash = `# signalbox completion for bash: source this file, or write it to a folder of bash-completion.
_signalbox() {
  local line="\${COMP_LINE:0:COMP_POINT}" words=() count=0 mode="" left i word current prefix value
  left="$line"
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if ((i > 0)) && [[ -n "$line" && "$left" != [[:space:]]* ]]; then
      words[count - 1]+="$word"
    else
      words[count]="$word"
      ((count += 1))
    fi
    left="\${left#"\${left%%[![:space:]]*}"}"
    left="\${left#"$word"}"
  done
  word="\${COMP_WORDS[COMP_CWORD]}"
  current="\${words[count - 1]}"
  prefix="\${current%"$word"}"
  COMPREPLY=()
  while IFS=$'\\t' read -r value _; do
    if [[ -z "$mode" ]]; then mode="$value"; else COMPREPLY+=("\${value#"$prefix"}"); fi
  done < <("\${words[0]}" ${completeCommand} -- "\${words[@]:1}" 2> /dev/null)
  if [[ "$mode" == files || "$mode" == folders ]]; then
    local kind=-f
    if [[ "$mode" == folders ]]; then kind=-d; fi
    while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen "$kind" -- "$word")
    compopt -o filenames 2> /dev/null
  fi
}
complete -F _signalbox signalbox
`;

const zsh = `#compdef signalbox
# signalbox completion for zsh: source this file behind compinit, or write it as _signalbox to a folder of $fpath.
_signalbox() {
  local -a lines items
  local line
  lines=("\${(@f)$("\${words[1]}" ${completeCommand} -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  case "\${lines[1]}" in
    files) _files ;;
    folders) _files -/ ;;
    words)
      for line in "\${(@)lines[2,-1]}"; do
        items+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
      done
      _describe -V signalbox items
      ;;
  esac
}
if [[ "\${funcstack[1]}" == _signalbox ]]; then _signalbox "$@"; else compdef _signalbox signalbox; fi
`;

const fish = `# signalbox completion for fish: write this to ~/.config/fish/completions/signalbox.fish
function __signalbox_complete
    set -l words (commandline -opc)
    # An empty word would vanish between words and command.
    set -l current (commandline -ct)
    test -z "$current"; and set current ""
    set -l lines ($words[1] ${completeCommand} -- $words[2..-1] "$current" 2>/dev/null)
    set -l mode $lines[1]
    set -e lines[1]
    switch "$mode"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current" ''
        case words
            printf '%s\\n' $lines
    end
end
complete -c signalbox -f -a '(__signalbox_complete)'
`;
