import type { Run } from './command.js';
import { type CommandCall, createContext, type OpenLogin } from './context.js';
import { CommandFailure, failure } from './failure.js';
import { modeOf, outputMode } from './options.js';
import { createOutput, type Output } from './output/output.js';
import { inOwnWords } from './own-words.js';
import type { Terminal } from './terminal.js';
import { version } from './version.js';

/** Runs one client command line and returns its exit code; `json` and `quiet` always print exactly one line (CL-I2). */
export async function runCommandLine(argv: readonly string[], terminal: Terminal): Promise<number> {
  const early = createOutput(terminal, modeOf(argv), { noColor: argv.includes('--no-color'), noPager: true });
  try {
    const { parseCommandLine } = await import('./program.js');
    const parsed = parseCommandLine(argv, version);
    if (parsed.kind === 'command') return await runChosen(parsed.chosen, terminal);
    terminal.stdout.write(parsed.text);
    return 0;
  } catch (error) {
    return report(early, error, 'svc');
  }
}

async function runChosen(chosen: CommandCall, terminal: Terminal): Promise<number> {
  const { options, what } = chosen;
  const output = createOutput(terminal, outputMode(options), {
    noColor: options.color === false,
    noPager: options.pager === false,
    called: options,
  });
  const interrupted = new AbortController();
  let isReported = false;
  const reportOnce = (error: unknown) => {
    isReported = true;
    return report(output, error, what);
  };
  let isOtherRunning = false;
  const stopListening = terminal.onInterrupt((signal) => {
    // Ctrl-C is of the command that runs; what else ends a process ends all of it.
    if (isOtherRunning && signal === 'SIGINT') return;
    if (!interrupted.signal.aborted)
      return interrupted.abort(new CommandFailure('interrupted', `${what}: interrupted`, { reason: signal }));
    const reason = interruptedAgain(what, interrupted.signal.reason as CommandFailure);
    if (!isReported) reportOnce(reason);
    terminal.exitNow(reason.exit);
  });
  const runOther = async (other: CommandCall) => {
    isOtherRunning = true;
    return runChosen(other, terminal).finally(() => {
      isOtherRunning = false;
    });
  };
  const context = createContext({ terminal, output, options, signal: interrupted.signal, what, runOther }, openLogin);
  try {
    const run = (await chosen.load()) as Run<unknown>;
    const answer = await run(context, chosen.args, options);
    isReported = true;
    await output.succeed(answer);
    return answer.exit ?? 0;
  } catch (error) {
    return reportOnce(inOwnWords(error, chosen));
  } finally {
    stopListening();
    context.close();
  }
}

/** What became of the request is open: it may go on, or a cancel may be on its way. */
function interruptedAgain(what: string, { requestId }: CommandFailure): CommandFailure {
  const hint = requestId === undefined ? null : `svc request show ${requestId} says what becomes of the request`;
  return Object.assign(new CommandFailure('interrupted', `${what}: interrupted`, { hint, reason: 'SIGINT' }), { requestId });
}

const openLogin: OpenLogin = async (...login) => (await import('./login/bearer.js')).loginBearer(...login);

/** Anything but a CommandFailure is a bug of ours. */
function report(output: Output, error: unknown, what: string): number {
  const problem =
    error instanceof CommandFailure
      ? error
      : failure('internal_error', `${what}: ${error instanceof Error ? error.message : String(error)}`);
  output.fail(problem);
  return problem.exit;
}
