import { Client as Newer, StreamableHTTPClientTransport as NewerHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as NewerStdio } from '@modelcontextprotocol/client/stdio';
import { Client as Older } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OlderHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Loose } from '../support/api.js';

/** An official client. Its methods are called as those of the newer one; the older is given the same form. */
export type OfficialClient = Pick<
  Newer,
  | 'listTools'
  | 'callTool'
  | 'listResources'
  | 'listResourceTemplates'
  | 'readResource'
  | 'listPrompts'
  | 'getPrompt'
  | 'ping'
  | 'close'
>;

/** How a client reaches the gateway. */
export type Way =
  | { url: string; token: string; fetch?: typeof fetch }
  | { command: string; args: string[]; cwd: string; env: Record<string, string> };

export interface Answers {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string>;
}

/** `answers`: what its user says to every question; a client without it cannot be asked. */
export type Connect = (way: Way, answers?: Answers) => Promise<OfficialClient>;

const info = { name: 'official', version: '2' };
const capabilitiesOf = (answers?: Answers) => ({ capabilities: answers === undefined ? {} : { elicitation: {} } });
/** Short, so that a test need not wait; a client that gives up at once would not be one that resumes. */
const reconnectionOptions = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 100,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 20,
};

const httpOptions = ({ token, fetch }: Extract<Way, { url: string }>) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
  reconnectionOptions,
  ...(fetch === undefined ? {} : { fetch }),
});

async function newer(way: Way, answers?: Answers): Promise<OfficialClient> {
  const client = new Newer(info, capabilitiesOf(answers));
  if (answers !== undefined) client.setRequestHandler('elicitation/create', async () => answers as Loose);
  await client.connect(
    'url' in way ? new NewerHttp(new URL(way.url), httpOptions(way)) : new NewerStdio({ ...way, stderr: 'pipe' }),
  );
  return client;
}

async function older(way: Way, answers?: Answers): Promise<OfficialClient> {
  const client = new Older(info, capabilitiesOf(answers));
  if (answers !== undefined) client.setRequestHandler(ElicitRequestSchema, async () => answers as Loose);
  // Its own types do not fit its own interface under exactOptionalPropertyTypes.
  const transport: Loose =
    'url' in way ? new OlderHttp(new URL(way.url), httpOptions(way)) : new OlderStdio({ ...way, stderr: 'pipe' });
  await client.connect(transport);
  const callTool = client.callTool.bind(client);
  return Object.assign(client as Loose, { callTool: (params: Loose, options?: Loose) => callTool(params, undefined, options) });
}

/** The two major versions that are published. */
export const officialClients: { version: string; connect: Connect }[] = [
  { version: 'sdk 1', connect: older },
  { version: 'client 2', connect: newer },
];
