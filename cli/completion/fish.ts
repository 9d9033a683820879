import { paths } from './bash.js';
import { type CommandWords, list, type OptionWords } from './words.js';

/** The fish script; it runs no program during completion. */
export function fishScript(table: readonly CommandWords[]): string {
  return `# fish completion of svc: svc completion fish | source
function __svc_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at/$word"
            case ${paths(table).replaceAll(' | ', ' ')}
                set at "$at/$word"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c svc -f
${table.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, commands, values, options }: CommandWords): string[] {
  const at = `complete -c svc -n '__svc_at "${path}"'`;
  return [
    ...commands.map(({ name, description }) => `${at} -a ${name} -d ${quote(description)}`),
    ...(values.length === 0 ? [] : [`${at} -a '${list(values)}'`]),
    ...options.map((option) => `${at} ${optionLine(option)}`),
  ];
}

function optionLine({ flags, value, description }: OptionWords): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(' ');
  const takes = value === null ? '' : value === 'file' ? ' -rF' : value === 'text' ? ' -x' : ` -xa '${list(value)}'`;
  return `${names}${takes} -d ${quote(description)}`;
}

const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
