import { onOneLine } from '../../lib/json/read.js';
import { objectText } from '../../lib/json/write.js';
import { visible, visibleLines } from '../../lib/visible.js';
import type { CommandFailure } from '../failure.js';
import { type Called, pasteable } from '../pasteable.js';
import type { Terminal } from '../terminal.js';
import { createStyle, type Style, wantsColour } from './style.js';

export type OutputMode = 'human' | 'json' | 'quiet';

/** The result of a successful command: `data` is JSON text as the server sent it, `human` the text for people. */
export interface Answer {
  data: string;
  human: () => string;
  /** Printed on stderr after the text for people. */
  note?: string;
  /** The request that the command made or followed, where `data` is not the request itself (CL-12). */
  requestId?: string;
  /** The exit code, where it is not 0 and what failed has been told. */
  exit?: number;
}

/** A list of `things`, or that there are none. */
export const listAnswer = (data: string, count: number, things: string, human: () => string): Answer =>
  count === 0 ? { data, human: () => '', note: `no ${things}` } : { data, human };

/** The only writer of stdout and stderr (CL-12, CL-13). */
export interface Output {
  readonly mode: OutputMode;
  /** The colours for stdout and stderr. */
  readonly style: Style;
  readonly noteStyle: Style;
  /** Printed on stderr in human mode; in the other modes listed in the line's `warnings`. */
  warn(text: string): void;
  /** Like `warn`, but after all other output, and each text only once (CL-11). */
  warnAtEnd(text: string): void;
  /** A status line on stderr, human mode only. */
  note(text: string): void;
  /** The text with its commands of `svc` as the caller can paste them. Notes of an answer and hints of a failure are told so by themselves. */
  pasteable(text: string): string;
  /** Shows the text for people in a pager where it is long (CL-37). */
  succeed(answer: Answer): Promise<void>;
  fail(problem: CommandFailure): void;
}

/** What a command line switches off, and what its hints have to repeat. */
export interface OutputOptions {
  noColor: boolean;
  noPager: boolean;
  called?: Called;
}

export function createOutput(terminal: Terminal, mode: OutputMode, { noColor, noPager, called = {} }: OutputOptions): Output {
  const { stdout, stderr } = terminal;
  const warnings: string[] = [];
  const last = new Set<string>();
  const { style, noteStyle, cuts } = createStyles(terminal, noColor);
  const note = (text: string) => {
    if (mode === 'human') stderr.write(`${text}\n`);
  };
  const warnLine = (text: string) => note(`${noteStyle.yellow('warning:')} ${visible(text)}`);
  const own = (text: string) => pasteable(text, called);
  const end = () => {
    const lacking = lackingText(cuts);
    if (lacking !== '') note(noteStyle.dim(`${lacking}; --json has all of it, and so has a pipe`));
    last.forEach(warnLine);
  };
  return {
    mode,
    style,
    noteStyle,
    warn(text) {
      warnings.push(text);
      warnLine(text);
    },
    warnAtEnd(text) {
      last.add(text);
    },
    note,
    pasteable: own,
    async succeed(answer) {
      if (mode === 'human') await showText(terminal, answer.human(), noPager);
      else stdout.write(jsonLine(answer, null, [...warnings, ...last]));
      if (answer.note !== undefined) note(own(answer.note));
      end();
    },
    fail(problem) {
      const hint = problem.hint === null ? null : own(problem.hint);
      // The terminal has shown ^C somewhere in its line.
      if (mode === 'human' && problem.reason === 'SIGINT' && stderr.isTTY === true) stderr.write('\n');
      if (mode !== 'human') stdout.write(jsonLine(problem, { ...told(problem), hint }, [...warnings, ...last]));
      else if (problem.human !== null) stdout.write(problem.human());
      if (mode !== 'quiet') stderr.write(errorLines({ ...told(problem), hint }, noteStyle));
      end();
    },
  };
}

/** The styles of both streams, and what they have left out to fit. */
function createStyles({ stdout, stderr, environment, now }: Terminal, noColor: boolean) {
  const cuts = new Set<string | null>();
  const styleOf = (stream: Terminal['stdout']): Style => {
    const fit =
      stream.isTTY === true
        ? { columns: stream.columns || 80, now, onCut: (column: string | null) => cuts.add(column) }
        : undefined;
    return createStyle(wantsColour(stream, environment, noColor), fit);
  };
  return { style: styleOf(stdout), noteStyle: styleOf(stderr), cuts };
}

/** Several tables may lack the same columns. */
function lackingText(cuts: ReadonlySet<string | null>): string {
  const columns = [...cuts].filter((column) => column !== null);
  const parts = columns.length === 0 ? [] : [`no room for ${columns.join(', ')}`];
  return [...parts, ...(cuts.has(null) ? ['what ends in ... is cut to fit'] : [])].join('; ');
}

async function showText(terminal: Terminal, text: string, noPager: boolean): Promise<void> {
  const pager = noPager || terminal.stdout.isTTY !== true ? null : (await import('./long-text.js')).pagerOf(text, terminal);
  if (pager === null || !(await terminal.page(pager, text))) terminal.stdout.write(text);
}

/** The one line of the modes that are not for people (CL-12). */
function jsonLine(
  { data, requestId }: { data: string; requestId?: string | undefined },
  error: Told | null,
  warnings: readonly string[],
): string {
  const line = {
    ok: error === null,
    data,
    ...(requestId !== undefined && { request_id: requestId }),
    ...(warnings.length > 0 && { warnings }),
    ...(error && { error }),
  };
  return `${objectText(line, { data: onOneLine(data) })}\n`;
}

type Told = Pick<CommandFailure, 'code' | 'message' | 'hint'>;
const told = ({ code, message, hint }: CommandFailure): Told => ({ code, message, hint });

function errorLines(problem: Told, style: Style): string {
  const hint = problem.hint === null ? '' : `${style.cyan('hint:')} ${visibleLines(problem.hint)}\n`;
  const isWaiting = problem.code === 'pending_approval' || problem.code === 'approved_pending_resume';
  const label = isWaiting ? style.yellow('waiting:') : style.red('error:');
  // Of a database's error each line may be what a requester wrote: none may begin as a line of ours does.
  return `${label} ${visibleLines(problem.message).replaceAll('\n', '\n  ')}\n${hint}`;
}
