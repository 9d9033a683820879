import { type Client, createClient } from './client.js';
import { type Layers, loadLayers } from './config/layers.js';
import type { ProviderSettings } from './config/provider.js';
import { type ServerSettings, serverSettings } from './config/server.js';
import type { GlobalOptions } from './options.js';
import type { Output } from './output/output.js';
import type { Terminal } from './terminal.js';
import { trustGate } from './trust.js';
import { version } from './version.js';

/** The token for the next call. */
export type TokenSource = () => Promise<string>;

/** Loads what reads and renews a stored login. */
export type OpenLogin = (
  context: Context,
  provider: ProviderSettings,
  place: { baseUrl: URL; ca: string | null },
) => Promise<TokenSource>;

/** A command with its words; `load` gives what `Bind` binds to it. */
export interface CommandCall {
  what: string;
  args: readonly string[];
  options: GlobalOptions & Record<string, unknown>;
  load: () => Promise<unknown>;
}

/** What every client command gets. */
export interface Context {
  terminal: Terminal;
  output: Output;
  options: GlobalOptions;
  /** Aborts at the first interrupt; its reason is the failure to report. */
  signal: AbortSignal;
  /** The command's words, the prefix of messages. */
  what: string;
  /** Read once, on first use. */
  layers(): Layers;
  /** Address and credential, read once, on first use; throws before anything is sent. */
  settings(): ServerSettings;
  /** Created once, on first use. */
  client(): Client;
  /** A client with another token than the configured one. */
  clientWith(token: TokenSource): Client;
  /** Asks, once, whether the address is trusted where that is needed (HD-60). */
  admit(): Promise<void>;
  /** Runs another command as if it had been typed, with interrupts of its own, and returns its exit code. */
  runOther(other: CommandCall): Promise<number>;
  /** The same command anew, whose warnings are taken instead of shown. It needs a `close` of its own. */
  hearing(warn: (text: string) => void): Context;
  /** Closes the clients and prints the closing warnings (CL-11). */
  close(): void;
}

export function createContext(
  parts: Pick<Context, 'terminal' | 'output' | 'options' | 'signal' | 'what' | 'runOther'>,
  openLogin: OpenLogin,
): Context {
  const { terminal, output, options } = parts;
  const clients: Client[] = [];
  const layers = once(() => loadLayers(options, terminal, output.warn));
  const settings = once(() => serverSettings(layers(), options, output.warn));
  const gate = once(() => trustGate(settings(), parts));
  const clientWith = (token: TokenSource) => {
    const made = clientOf(context, token, gate());
    clients.push(made);
    return made;
  };
  const context: Context = {
    ...parts,
    layers,
    settings,
    admit: async () => gate()?.(),
    clientWith,
    client: once(() => clientWith(tokenOf(context, settings(), openLogin))),
    hearing: (warn) => createContext({ ...parts, output: { ...output, warn, warnAtEnd: warn } }, openLogin),
    close: () => clients.forEach((one) => void one.close()),
  };
  return context;
}

/** The value of the first call that does not throw, for all later ones. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function clientOf(context: Context, token: TokenSource, admit: ReturnType<typeof trustGate>): Client {
  const { terminal, output, signal, what } = context;
  return createClient({
    settings: context.settings(),
    token,
    admit,
    limits: terminal.limits,
    environment: terminal.environment,
    signal,
    what,
    onOtherVersion: (server) =>
      output.warnAtEnd(`the server is version ${server}, svc is version ${version}; use the same version`),
    onSilence: (server) => output.note(`${server} has not answered yet ...`),
  });
}

function tokenOf(context: Context, { credential, baseUrl, ca }: ServerSettings, openLogin: OpenLogin): TokenSource {
  if (credential.kind === 'token') return async () => credential.token;
  const source = once(() => openLogin(context, credential.provider, { baseUrl, ca }));
  return async () => (await source())();
}
