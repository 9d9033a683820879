import { paths, valueCases } from './bash.js';
import { type CommandWords, list, nextWords } from './words.js';

/** The zsh script; it runs no program during completion. */
export function zshScript(table: readonly CommandWords[]): string {
  return `#compdef svc
# zsh completion of svc: source <(svc completion zsh), after compinit
_svc() {
  local prev=\${words[CURRENT-1]} at= i
  if [[ \${words[CURRENT]} == --*=* ]]; then prev=\${words[CURRENT]%%=*}; compset -P '*='; fi
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/\${words[i]}" in
      ${paths(table)}) at=$at/\${words[i]} ;;
    esac
  done
  case "$at $prev" in
${valueCases(table, { file: '_files', words: (words) => `compadd -- ${words}` })}
  esac
  case "$at" in
${table.map((words) => `    '${words.path}') compadd -- ${list(nextWords(words))} ;;`).join('\n')}
  esac
}
if [ "\${funcstack[1]}" = _svc ]; then _svc "$@"; else compdef _svc svc; fi
`;
}
