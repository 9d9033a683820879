import { type Client, createClient } from './client.js';
import { type Layers, loadLayers } from './config/layers.js';
import { serverSettings } from './config/server.js';
import type { GlobalOptions } from './options.js';
import type { Output } from './output/output.js';
import type { Terminal } from './terminal.js';
import { trustGate } from './trust.js';

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
  /** Created once, on first use; throws before anything is sent. */
  client(): Client;
  /** Closes the client and prints the closing warnings (CL-11). */
  close(): void;
}

export function createContext(parts: Pick<Context, 'terminal' | 'output' | 'options' | 'signal' | 'what'>): Context {
  const { terminal, output, options, signal, what } = parts;
  let layers: Layers | undefined;
  let client: Client | undefined;
  const getLayers = () => {
    layers ??= loadLayers(options, terminal, output.warn);
    return layers;
  };
  return {
    ...parts,
    layers: getLayers,
    client() {
      if (client) return client;
      const settings = serverSettings(getLayers(), options, output.warn);
      client = createClient({
        settings,
        admit: trustGate(settings, parts),
        limits: terminal.limits,
        environment: terminal.environment,
        signal,
        what,
        onOtherVersion: (server) => output.warnAtEnd(`the server is version ${server}, this command line another`),
      });
      return client;
    },
    close: () => client?.close(),
  };
}
