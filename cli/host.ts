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

type Choose = (start: () => Promise<number>) => void;

interface ServerOptions {
  config: string;
  listen?: string;
  forceBootstrap?: boolean;
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
  const inherit = (command: Command) => command.exitOverride();
  inherit(program.command('server').description('run the HTTP API'))
    .addOption(configOption())
    .option('--listen <addr>', 'host:port, over server.listen')
    .option('--force-bootstrap', 'make the bootstrap tokens anew')
    .action((options: ServerOptions) =>
      choose(async () =>
        (await import('../api/main.js')).runServer({
          config: options.config,
          listen: options.listen ?? null,
          forceBootstrap: options.forceBootstrap === true,
        }),
      ),
    );
  inherit(program.command('worker').description('run the Temporal worker'))
    .addOption(configOption())
    .action((options: { config: string }) =>
      choose(async () => (await import('../worker/main.js')).runWorker({ config: options.config })),
    );
  inherit(program.command('dev').description('server, worker, agent, database and Temporal on one machine'))
    .option('--config <file>', 'server.toml; default: the demo')
    .option('--data <dir>', 'where everything is kept; default: .svc')
    .option('--reset', 'start from nothing, after asking')
    .action((options: { config?: string; data?: string; reset?: boolean }) =>
      choose(async () =>
        (await import('../dev/main.js')).runDev({
          config: options.config ?? null,
          data: options.data ?? null,
          reset: options.reset === true,
        }),
      ),
    );
  const config = inherit(program.command('config').description('server.toml'));
  inherit(config.command('check').description('check server.toml'))
    .addOption(configOption())
    .option('--online', 'also against the database')
    .option('--strict', 'warnings count as errors')
    .addOption(new Option('--format <mode>', 'output').choices(['human', 'json']).default('human'))
    .action((options: CheckOptions) =>
      choose(async () =>
        (await import('../config/check.js')).runConfigCheck({
          config: options.config,
          online: options.online === true,
          strict: options.strict === true,
          format: options.format,
        }),
      ),
    );
  return program;
}

/** CF-1: `server.toml` of the working directory unless told otherwise. */
function configOption(): Option {
  return new Option('--config <file>', 'server.toml').default('server.toml');
}
