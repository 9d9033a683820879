import { Command, CommanderError, Option } from 'commander';

/** Runs a command of the gateway's own host (cli.md section 13) and answers its exit code; a bad command line is 2 (OP-51). */
export async function runHostCommand(argv: readonly string[]): Promise<number> {
  let start: (() => Promise<number>) | undefined;
  const program = createProgram((chosen) => {
    start = chosen;
  });
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return start ? start() : 2;
}

/** The tree of these commands, for who wants to know their words. */
export const hostCommands = (): Command => createProgram(() => {});

type Choose = (start: () => Promise<number>) => void;

interface ServerOptions {
  config: string;
  listen?: string;
  forceBootstrap?: boolean;
}

interface DevOptions {
  config?: string;
  data?: string;
  reset?: boolean;
}

interface CheckOptions {
  config: string;
  online?: boolean;
  strict?: boolean;
  format: 'human' | 'json';
}

/** Each program is loaded only when it is the one to run. */
function createProgram(choose: Choose): Command {
  const program = new Command('svc').exitOverride().helpOption('-h, --help', 'print help');
  defineServer(program, choose);
  defineWorker(program, choose);
  defineDev(program, choose);
  defineConfig(program, choose);
  return program;
}

function defineServer(program: Command, choose: Choose): void {
  define(program, 'server', 'run the HTTP API')
    .addOption(configOption())
    .option('--listen <addr>', 'host:port, over server.listen')
    .option('--force-bootstrap', 'make the bootstrap tokens anew')
    .action(({ config, listen, forceBootstrap }: ServerOptions) =>
      choose(async () => {
        const { runServer } = await import('../api/main.js');
        return runServer({ config, listen: listen ?? null, forceBootstrap: forceBootstrap === true });
      }),
    );
}

function defineWorker(program: Command, choose: Choose): void {
  define(program, 'worker', 'run the Temporal worker')
    .addOption(configOption())
    .action(({ config }: { config: string }) => choose(async () => (await import('../worker/main.js')).runWorker({ config })));
}

function defineDev(program: Command, choose: Choose): void {
  define(program, 'dev', 'server, worker, agent, database and Temporal on one machine')
    .option('--config <file>', 'server.toml; default: the demo')
    .option('--data <dir>', 'where everything is kept; default: .svc')
    .option('--reset', 'start from nothing, after asking')
    .action(({ config, data, reset }: DevOptions) =>
      choose(async () =>
        (await import('../dev/main.js')).runDev({ config: config ?? null, data: data ?? null, reset: reset === true }),
      ),
    );
}

function defineConfig(program: Command, choose: Choose): void {
  define(define(program, 'config', 'server.toml'), 'check', 'check server.toml')
    .addOption(configOption())
    .option('--online', 'also against the database')
    .option('--strict', 'warnings count as errors')
    .addOption(new Option('--format <mode>', 'output').choices(['human', 'json']).default('human'))
    .action((options: CheckOptions) => choose(async () => (await import('../config/check.js')).runConfigCheck(options)));
}

/** A bad command line is thrown, not the end of the process. */
function define(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).exitOverride();
}

/** CF-1: `server.toml` of the working directory unless told otherwise. */
function configOption(): Option {
  return new Option('--config <file>', 'server.toml').default('server.toml');
}
