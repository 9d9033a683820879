import { expandTree, readText } from './expansion.js';
import { formatProblem } from './problems.js';
import { parseToml, readSource } from './source.js';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads `state_dir` of a file whose other keys may be wrong, or may need variables that only the server has. A problem is one
 * line in the form of CF-60.
 */
export function readStateDir(file: string, environment: Variables): { stateDir: string } | { problem: string } {
  const source = readSource(file);
  if ('problem' in source) return { problem: formatProblem(source.problem) };
  const parsed = parseToml(file, source.text);
  if ('problem' in parsed) return { problem: formatProblem(parsed.problem) };
  let problem = 'is required';
  const expanded = expandTree(parsed.table.state_dir, environment, (_, message) => {
    problem = message;
  });
  const stateDir = readText(expanded)?.text;
  if (stateDir) return { stateDir };
  return { problem: formatProblem({ file, line: 1, column: 1, key: 'state_dir', message: problem, hint: null }) };
}
