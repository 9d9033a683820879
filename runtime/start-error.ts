import { formatProblem } from '../config/index.js';
import type { ConfigProblem } from '../config/types.js';

/** Why a process cannot start. Each line goes to stderr, and the exit code is 1 (OP-51). */
export class StartError extends Error {
  readonly lines: readonly string[];

  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.name = 'StartError';
    this.lines = lines;
  }
}

/** A readable file that start and reload refuse. Its lines are those of CF-60. */
export class ConfigError extends StartError {
  readonly problems: readonly ConfigProblem[];

  constructor(...problems: ConfigProblem[]) {
    super(...problems.map(formatProblem));
    this.problems = problems;
  }
}
