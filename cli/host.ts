import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { KeyCommand, KeysOptions } from '../runtime/commands/keys.js';

/** Runs a command of the gateway's own host (cli.md section 13) and returns its exit code; a bad command line is 2 (OP-51). */
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

/** The tree of host commands, to read their words. */
export const hostCommands = (): Command => createProgram(() => {});

type Choose = (start: () => Promise<number>) => void;

interface ServerOptions {
  config: string;
  listen?: string;
  forceBootstrap?: boolean;
}

interface DevOptions {
  config?: string | null;
  data?: string | null;
  reset?: boolean;
  oidc?: boolean;
}

interface CheckOptions {
  config: string;
  online?: boolean;
  strict?: boolean;
  format: 'human' | 'json';
}

/** Loads each program only when it is the one to run. */
function createProgram(choose: Choose): Command {
  const program = new Command('svc').exitOverride().helpOption('-h, --help', 'print help');
  defineServer(program, choose);
  defineWorker(program, choose);
  defineDev(program, choose);
  defineConfig(program, choose);
  return program;
}

function defineServer(program: Command, choose: Choose): void {
  const server = define(program, 'server', 'run the HTTP API');
  server
    .addOption(configOption())
    .option('--listen <addr>', 'host:port, over server.listen')
    .option('--force-bootstrap', 'make the bootstrap tokens anew')
    .action(({ config, listen, forceBootstrap }: ServerOptions) =>
      choose(async () => {
        const { runServer } = await import('../api/main.js');
        return runServer({ config, listen: listen ?? null, forceBootstrap: forceBootstrap === true });
      }),
    );
  define(server, 'reload', 'read server.toml again, all of it or nothing')
    .addOption(configOption())
    .action((_, command: Command) =>
      choose(async () => (await import('../runtime/commands/reload.js')).runReload({ config: configOf(command) })),
    );
  defineKeys(server, choose);
}

function defineKeys(server: Command, choose: Choose): void {
  const keys = define(server, 'keys', 'signing keys of execution tokens and of the audit log');
  defineKeyCommand(keys, choose, 'list', () => ({ verb: 'list' })).description('every key and what becomes of it');
  defineKeyCommand(keys, choose, 'rotate', (_, { overlap, now }) => ({ verb: 'rotate', overlapSecs: overlap, now: now === true }))
    .description('publish a new key that takes over in 10 minutes')
    .addOption(overlapOption())
    .option('--now', 'take over at once');
  defineKeyCommand(keys, choose, 'revoke <key_id>', (keyId) => ({ verb: 'revoke', keyId })).description('end a key at once');
  defineKeyCommand(keys, choose, 'rotate-secret <file>', (file) => ({ verb: 'rotate-secret', file })).description(
    'put all that is stored under the secret key in a file (64 hex characters); stop servers and workers first',
  );
  defineKeyCommand(keys, choose, 'import <file>', (file) => ({ verb: 'import', file })).description(
    'publish the key of a seed (64 hex characters) in a file',
  );
}

interface RotateOptions {
  overlap: number;
  now?: boolean;
}

/** A command of `keys`; `toCommand` gets its argument, or an empty text if it takes none. */
function defineKeyCommand(
  keys: Command,
  choose: Choose,
  name: string,
  toCommand: (argument: string, options: RotateOptions) => KeyCommand,
): Command {
  const purpose = new Option('--purpose <name>', 'whose keys').choices(['execution_token', 'audit']).default('execution_token');
  const command = define(keys, name).addOption(configOption()).addOption(purpose);
  return command.action(() => {
    const { purpose, ...options } = command.opts<RotateOptions & Pick<KeysOptions, 'purpose'>>();
    choose(async () =>
      (await import('../runtime/commands/keys.js')).runKeys({
        config: configOf(command),
        purpose,
        command: toCommand(command.args[0] ?? '', options),
      }),
    );
  });
}

const overlapOption = () =>
  new Option('--overlap <time>', 'how long the old key goes on for agents that know no other')
    .argParser(duration)
    .default(86_400, '24h');

/** Parses `90s`, `30m`, `24h` or `7d` into seconds; at most a year. */
function duration(text: string): number {
  const [, count, unit] = /^(\d{1,8})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * { s: 1, m: 60, h: 3600, d: 86_400 }[unit as 's' | 'm' | 'h' | 'd'];
  if (!(seconds >= 60 && seconds <= 31_536_000)) throw new InvalidArgumentError('it must be 1m to 365d, such as 24h.');
  return seconds;
}

/** `--config` in any position: a parent command consumes it before the child sees it. */
function configOf(command: Command): string {
  return command.optsWithGlobals<{ config: string }>().config;
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
    .option('--oidc', 'the demo with an identity provider, to try svc login')
    .action(({ config = null, data = null, reset = false, oidc = false }: DevOptions) =>
      choose(async () => (await import('../dev/main.js')).runDev({ config, data, reset, oidc })),
    );
}

function defineConfig(program: Command, choose: Choose): void {
  define(define(program, 'config', 'server.toml'), 'check', 'check server.toml')
    .addOption(configOption())
    .option('--online', 'also against the database')
    .option('--strict', 'warnings count as errors')
    .addOption(new Option('--format <mode>', 'output').choices(['human', 'json']).default('human'))
    .action((options: CheckOptions) =>
      choose(async () => (await import('../runtime/commands/config-check.js')).runConfigCheck(options)),
    );
}

/** A bad command line throws instead of ending the process. */
function define(parent: Command, name: string, description = ''): Command {
  return parent.command(name).description(description).exitOverride();
}

/** CF-1: `server.toml` in the working directory by default. */
function configOption(): Option {
  return new Option('--config <file>', 'server.toml').default('server.toml');
}
