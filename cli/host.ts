import { Command, CommanderError, Option } from 'commander';
import type { KeyCommand, KeysOptions } from '../runtime/commands/keys.js';
import type { Say } from '../runtime/commands/say.js';
import { addExamples } from './define/examples.js';
import { configOf, configOption, formatOptions, hostPort, type Mode, overlapOption } from './host-options.js';
import { type UsageError, usageError } from './usage.js';

/** Runs a command of the gateway's own host (cli.md section 13) and returns its exit code; a bad command line is 2 (OP-51), told in `mode`. */
export async function runHostCommand(argv: readonly string[], mode: Mode): Promise<number> {
  let start: (() => Promise<number>) | undefined;
  const program = createProgram((chosen) => {
    start = chosen;
  });
  forEachCommand(program, (command) => void command.configureOutput({ writeErr: () => undefined }));
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    await tellUsage(mode, usageError(error, program, argv));
    return 2;
  }
  return start ? start() : 2;
}

/** Checks of `svc doctor` that need the code of another program. */
export const loadAgentDoctor = () => import('../agent/doctor.js');
export const loadServerDoctor = () => import('../runtime/commands/doctor.js');

/** A bad command line, as the client's commands tell it (CL-01, CL-60). */
async function tellUsage(mode: Mode, { message, hint }: UsageError): Promise<void> {
  const { failed, standardStreams } = await import('../runtime/commands/say.js');
  if (mode !== 'human') standardStreams.out(JSON.stringify(failed('usage', message, hint)));
  if (mode !== 'quiet') standardStreams.err(`error: ${message}\nhint: ${hint}`);
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

/** Runs a command of `runtime/commands/` in the output mode that its options name. */
async function inMode(command: Command, run: (say?: Say) => Promise<number>): Promise<number> {
  const { json, format = 'human' } = command.optsWithGlobals<{ json?: boolean; format?: Mode }>();
  const mode = json === true ? 'json' : format;
  if (mode === 'human') return run();
  return (await import('../runtime/commands/say.js')).inOneLine(mode, run);
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
  format?: Mode;
  json?: boolean;
}

/** Loads each program only when it is the one to run. */
function createProgram(choose: Choose): Command {
  const program = new Command('svc').exitOverride().helpOption('-h, --help', 'print help');
  defineServer(program, choose);
  defineWorker(program, choose);
  defineDev(program, choose);
  defineConfig(program, choose);
  addExamples(program);
  return program;
}

function defineServer(program: Command, choose: Choose): void {
  const server = define(program, 'server', 'run the HTTP API');
  server
    .addOption(configOption())
    .option('--listen <addr>', 'host:port, instead of server.listen', hostPort)
    .option('--force-bootstrap', 'revoke the bootstrap tokens and create new ones')
    .action(({ config, listen, forceBootstrap }: ServerOptions) =>
      choose(async () => {
        const { runServer } = await import('../api/main.js');
        return runServer({ config, listen: listen ?? null, forceBootstrap: forceBootstrap === true });
      }),
    );
  formatOptions(define(server, 'reload', 'reload server.toml, all of it or nothing'))
    .addOption(configOption())
    .action((_, command: Command) =>
      choose(async () => {
        const { runReload } = await import('../runtime/commands/reload.js');
        return inMode(command, (say) => runReload({ config: configOf(command) }, say));
      }),
    );
  defineKeys(server, choose);
}

function defineKeys(server: Command, choose: Choose): void {
  const keys = define(server, 'keys', 'manage the signing keys of execution tokens and of the audit log');
  defineKeyCommand(keys, choose, 'list', () => ({ verb: 'list' }))
    .description('list all keys and their status')
    .addOption(purposeOption());
  defineKeyCommand(keys, choose, 'rotate', (_, { overlap, now }) => ({ verb: 'rotate', overlapSecs: overlap, now: now === true }))
    .description('publish a new key that takes over in 10 minutes; one of the audit log takes over at once')
    .addOption(purposeOption())
    .addOption(overlapOption())
    .option('--now', 'take over at once');
  defineKeyCommand(keys, choose, 'revoke <key_id>', (keyId) => ({ verb: 'revoke', keyId }))
    .description('revoke a key at once')
    .addOption(purposeOption());
  defineKeyCommand(keys, choose, 'rotate-secret <file>', (file) => ({ verb: 'rotate-secret', file })).description(
    're-encrypt stored data with the secret key in a file (64 hex characters); stop servers and workers first',
  );
  defineKeyCommand(keys, choose, 'import <file>', (file) => ({ verb: 'import', file }))
    .description('import a key from a seed file (64 hex characters)')
    .addOption(purposeOption());
}

const purposeOption = (): Option =>
  new Option('--purpose <name>', 'purpose of the keys').choices(['execution_token', 'audit']).default('execution_token');

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
  const command = formatOptions(define(keys, name)).addOption(configOption());
  return command.action(() => {
    const { purpose = 'execution_token', ...options } = command.opts<RotateOptions & Partial<Pick<KeysOptions, 'purpose'>>>();
    choose(async () => {
      const { runKeys } = await import('../runtime/commands/keys.js');
      const wanted = { config: configOf(command), purpose, command: toCommand(command.args[0] ?? '', options) };
      return inMode(command, (say) => runKeys(wanted, say));
    });
  });
}

function defineWorker(program: Command, choose: Choose): void {
  define(program, 'worker', 'run the Temporal worker')
    .addOption(configOption())
    .action(({ config }: { config: string }) => choose(async () => (await import('../worker/main.js')).runWorker({ config })));
}

function defineDev(program: Command, choose: Choose): void {
  define(program, 'dev', 'run server, worker, agent, database and Temporal on this machine')
    .option('--config <file>', 'server.toml (default: the demo)')
    .option('--data <dir>', 'data folder (default: .svc)')
    .option('--reset', 'delete all data first, after asking')
    .option('--oidc', 'the demo with an identity provider, to try svc login')
    .action(({ config = null, data = null, reset = false, oidc = false }: DevOptions) =>
      choose(async () => (await import('../dev/main.js')).runDev({ config, data, reset, oidc })),
    );
}

function defineConfig(program: Command, choose: Choose): void {
  formatOptions(define(define(program, 'config', 'check server.toml'), 'check', 'check server.toml'))
    .addOption(configOption())
    .option('--online', 'also check against the database')
    .option('--strict', 'treat warnings as errors')
    .action((options: CheckOptions) =>
      choose(async () => {
        const { runConfigCheck } = await import('../runtime/commands/config-check.js');
        // The line of JSON is all that it prints, so quiet is the same.
        const format = options.json === true || (options.format ?? 'human') !== 'human' ? 'json' : 'human';
        return runConfigCheck({ ...options, format });
      }),
    );
}

/** A bad command line throws instead of ending the process. */
function define(parent: Command, name: string, description = ''): Command {
  return parent.command(name).description(description).exitOverride();
}
