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
  let layers: Layers | undefined;
  let settings: ServerSettings | undefined;
  let admission: ReturnType<typeof trustGate> | undefined;
  let client: Client | undefined;
  const clients: Client[] = [];
  const getLayers = () => {
    layers ??= loadLayers(options, terminal, output.warn);
    return layers;
  };
  const getSettings = () => {
    settings ??= serverSettings(getLayers(), options, output.warn);
    return settings;
  };
  const gate = () => {
    if (admission === undefined) admission = trustGate(getSettings(), parts);
    return admission;
  };
  const clientWith = (token: TokenSource) => {
    const made = clientOf(context, token, gate());
    clients.push(made);
    return made;
  };
  const context: Context = {
    ...parts,
    layers: getLayers,
    settings: getSettings,
    admit: async () => gate()?.(),
    clientWith,
    client() {
      client ??= clientWith(tokenOf(context, getSettings(), openLogin));
      return client;
    },
    hearing: (warn) => createContext({ ...parts, output: { ...output, warn, warnAtEnd: warn } }, openLogin),
    close: () => clients.forEach((one) => void one.close()),
  };
  return context;
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
  });
}

function tokenOf(context: Context, { credential, baseUrl, ca }: ServerSettings, openLogin: OpenLogin): TokenSource {
  if (credential.kind === 'token') return async () => credential.token;
  let source: Promise<TokenSource> | undefined;
  return async () => {
    source ??= openLogin(context, credential.provider, { baseUrl, ca });
    return (await source)();
  };
}
