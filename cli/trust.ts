import { visible } from '../lib/visible.js';
import type { ServerSettings } from './config/server.js';
import { changeTrusted, isTrusted, readTrusted, type TrustEntry, trustedFile } from './config/trusted.js';
import { CommandFailure, failure } from './failure.js';
import type { Output } from './output/output.js';
import { confirm } from './prompt.js';
import { isInteractive, type Terminal } from './terminal.js';

/** The terminal to ask on, and the message prefix. */
interface Asking {
  terminal: Terminal;
  output: Output;
  signal: AbortSignal;
  what: string;
}

/**
 * What to await before the first call (HD-60): null when the address is the person's own or trusted, else the question. Throws
 * when nobody can be asked; `--yes` does not answer this question.
 */
export function trustGate(settings: ServerSettings, asking: Asking): (() => Promise<void>) | null {
  const { terminal, output } = asking;
  const entry = settings.needsTrust;
  if (entry === null) return null;
  const file = trustedFile(terminal.environment);
  if (isTrusted(readTrusted(file), entry)) return null;
  const canAsk = output.mode === 'human' && isInteractive(terminal) && !isBuildServer(terminal);
  if (!canAsk) throw notTrusted(entry, settings);
  let asked: Promise<void> | undefined;
  return () => {
    asked ??= ask(entry, settings, file, asking);
    return asked;
  };
}

/** A build server may offer a terminal, but nobody is watching it. */
const isBuildServer = ({ environment }: Asking['terminal']) => !['', '0', 'false'].includes(environment.CI ?? '');

async function ask(entry: TrustEntry, settings: ServerSettings, file: string, asking: Asking): Promise<void> {
  const question = `${visible(entry.folder)}/svc.toml names the server ${visible(entry.address)}, which would get ${what(settings)}${loginPart(entry)}. Trust this server?`;
  if (!(await confirm(asking.terminal, question, asking.signal)))
    throw failure('config_error', `${asking.what}: ${entry.address} is not trusted; nothing was sent`);
  await changeTrusted(file, (entries) => [...entries, entry]).catch((error: unknown) => {
    if (!(error instanceof CommandFailure)) throw error;
    asking.output.warn(`${error.message}; you will be asked again`);
  });
}

function notTrusted(entry: TrustEntry, settings: ServerSettings): CommandFailure {
  return failure(
    'config_error',
    `svc.toml names the server ${entry.address}, which you do not trust in ${entry.folder} yet; nothing was sent`,
    {
      hint: `it would get ${what(settings)}${loginPart(entry)}; to trust it: svc trust ${entry.address}`,
    },
  );
}

const what = ({ source }: ServerSettings) => `the credential of ${visible(source)}`;

/** A login goes to more addresses than the server's. */
const loginPart = ({ provider }: TrustEntry) => (provider === undefined ? '' : `, by a login at ${visible(provider)}`);
