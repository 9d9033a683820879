import { verifyWebhook } from '../../crypto/webhook-signature.js';
import { onOneLine, tryJson } from '../../lib/json/read.js';
import { objectText } from '../../lib/json/write.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { logInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';
import { cutToWidth } from '../output/width.js';
import { type Received, receiveWebhooks } from '../webhook-receiver.js';
import { readSecret, type SecretOptions } from '../webhook-secret.js';

export interface ListenOptions extends SecretOptions {
  port?: number;
  count?: number;
}

/** `svc webhook listen`: no call and no configuration. Ctrl-C is its usual end, unless `--count` says how many are to come. */
export async function listenForWebhooks(context: Context, _: readonly string[], options: ListenOptions): Promise<Answer> {
  const { terminal, output, signal, what } = context;
  const { secret, variable } = readSecret(context, options);
  const counts = { received: 0, verified: 0 };
  await receiveWebhooks({
    port: options.port ?? 9099,
    receiveMs: terminal.limits.receiveMs,
    signal,
    onListening: (port) => output.note(snippet(port, variable)),
    onDelivery(received) {
      const now = terminal.now();
      const fault = verifyWebhook({ ...received, secret, now });
      counts.received += 1;
      counts.verified += fault === null ? 1 : 0;
      print(context, factsOf(received, fault, now));
      return { verified: fault === null, last: counts.received >= (options.count ?? Number.POSITIVE_INFINITY) };
    },
    onRefused: (why) => output.note(`refused a call that is not a delivery: ${why}`),
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall !== 'listen') throw error;
    const why = error.code === 'EADDRINUSE' ? 'it is in use' : error.code;
    throw failure('network_error', `${what}: cannot listen on this port (${why})`, { hint: 'choose another with --port' });
  });
  if (options.count !== undefined && counts.received < options.count) signal.throwIfAborted();
  return {
    data: JSON.stringify(counts),
    human: () => '',
    note: `${counts.received} received, ${counts.verified} verified`,
  };
}

const snippet = (
  port: number,
  variable: string,
) => `# server.toml of every server and worker; the first line stands above all tables
allow_private_networks = true

[[webhooks]]
id = "listen"
url = "http://127.0.0.1:${port}/"
secret = "\${${variable}}"

# waiting for deliveries; Ctrl-C ends`;

interface Facts {
  receivedAt: string;
  id: string | null;
  event: string | null;
  request: string | null;
  actor: string | null;
  fault: string | null;
  /** JSON text: the body, or the body as a string when it is not JSON. */
  body: string;
}

/** What happened stands in the body, which is signed. Messages for Slack have it in a header only. */
function factsOf({ headers, body }: Received, fault: string | null, now: number): Facts {
  const text = body.toString('utf8');
  const json = tryJson(text);
  const member = (name: string) => json?.get(name)?.string() ?? null;
  return {
    receivedAt: new Date(now).toISOString(),
    id: headerOf(headers['webhook-id']),
    event: member('event') ?? headerOf(headers['x-svc-event']),
    request: member('request_id'),
    actor: member('actor'),
    fault,
    body: json === null ? JSON.stringify(text) : onOneLine(text),
  };
}

const headerOf = (value: string | string[] | undefined) => (typeof value === 'string' ? value : null);

/** One line for each delivery. With `--json` it has the body, and the line that ends every command follows last (CL-12). */
function print({ terminal: { stdout }, output: { mode, style } }: Context, facts: Facts): void {
  const { receivedAt, id, event, request, actor, fault, body } = facts;
  if (mode === 'quiet') return;
  if (mode === 'json') {
    const line = { received_at: receivedAt, id, event, request_id: request, actor, verified: fault === null, fault };
    return void stdout.write(`${objectText(line, { body })}\n`);
  }
  const verdict = fault === null ? style.green('verified') : style.red(`not verified: ${fault}`);
  const parts = [
    style.dim(logInstant(receivedAt, style)),
    style.bold(shown(event) || '(no event)'),
    ...(request === null ? [] : [`request ${shown(request)}`]),
    ...(actor === null ? [] : [`by ${shown(actor)}`]),
    verdict,
  ];
  stdout.write(`${parts.join('  ')}\n`);
}

const shown = (text: string | null) => cutToWidth(visible(text ?? ''), 60);
