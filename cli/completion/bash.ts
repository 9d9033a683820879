import { type CommandWords, list, nextWords } from './words.js';

/** The bash script; it runs no program during completion. */
export function bashScript(table: readonly CommandWords[]): string {
  return `# bash completion of svc: source <(svc completion bash)
_svc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at= i
  COMPREPLY=()
  # bash splits --option=value at the sign
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
      ${paths(table)}) at=$at/\${COMP_WORDS[i]} ;;
    esac
  done
  case "$at $prev" in
${valueCases(table, { file: 'COMPREPLY=($(compgen -f -- "$cur"))', words: (words) => `COMPREPLY=($(compgen -W '${words}' -- "$cur"))` })}
  esac
  case "$at" in
${table.map((words) => `    '${words.path}') COMPREPLY=($(compgen -W '${list(nextWords(words))}' -- "$cur")) ;;`).join('\n')}
  esac
}
complete -F _svc svc
`;
}

/** A shell pattern that matches every command. */
export const paths = (table: readonly CommandWords[]) => table.flatMap(({ path }) => (path === '' ? [] : path)).join(' | ');

/** The arms of a `case "$at $prev"` for options that take a value. */
export function valueCases(table: readonly CommandWords[], how: { file: string; words: (words: string) => string }): string {
  const arms = table.flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) => {
      if (value === null) return [];
      const act = value === 'file' ? how.file : value === 'text' ? ':' : how.words(list(value));
      return `    ${flags.map((flag) => `'${path} ${flag}'`).join(' | ')}) ${act}; return ;;`;
    }),
  );
  return arms.join('\n');
}
