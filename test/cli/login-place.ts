import { mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from 'oidc-provider';
import type { StoredLogin } from '../../cli/login/store.js';
import { waitUntil } from '../../lib/deadline.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { type RealProvider, startRealProvider } from '../support/real-provider.js';
import { runSvc, type SvcOptions, type SvcResult } from './run-svc.js';

/** A person's home, a server and a provider at which svc logs in. */
export interface LoginPlace {
  provider: RealProvider;
  api: FakeApi;
  /** The parent of the person's configuration folder. */
  home: string;
  /** The file that is given as --config. */
  config: string;
  credentials: string;
  svc(argv: string[], options?: SvcOptions): Promise<SvcResult & { line: ReturnType<typeof JSON.parse> }>;
  /** `svc login` with a browser that opens the printed address as alice; `before` sees where the browser is to go. */
  logIn(argv?: string[], before?: (callback: string) => Promise<void>, options?: SvcOptions): ReturnType<LoginPlace['svc']>;
  /** What is stored, one login after another. */
  stored(): StoredLogin[];
  file(): string;
  /** Writes the stored logins anew. */
  change(over: Partial<StoredLogin>): void;
  close(): Promise<void>;
}

/** Refresh tokens are given and taken once, as strict providers do. */
const strict: Configuration = {
  features: { deviceFlow: { enabled: true }, revocation: { enabled: true } },
  issueRefreshToken: async () => true,
  rotateRefreshToken: () => true,
  ttl: { IdToken: 3600, AccessToken: 3600, RefreshToken: 86_400 },
};

export async function openLoginPlace(over: Configuration = {}): Promise<LoginPlace> {
  const provider = await startRealProvider([], { ...strict, ...over });
  const api = await startFakeApi();
  api.on('GET /api/me', ({ headers }) => ({ body: { subject_id: claimsOf(headers.authorization ?? '').sub } }));
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-login-')));
  const config = join(home, 'gate.toml');
  writeFileSync(config, tomlFor(api.url, provider.issuer));
  const credentials = join(home, 'svc', 'credentials');
  const svc = async (argv: string[], options: SvcOptions = {}) => {
    const words = argv.includes('--config') ? argv : ['--config', config, ...argv];
    const environment = { XDG_CONFIG_HOME: home, ...options.environment };
    const result = await runSvc([...words, '--json'], { ...options, environment });
    return { ...result, line: JSON.parse(result.stdout) };
  };
  const file = () => join(credentials, readdirSync(credentials).find((name) => name.endsWith('.json'))!);
  const stored = () => JSON.parse(readFileSync(file(), 'utf8')).logins;
  return {
    provider,
    api,
    home,
    config,
    credentials,
    svc,
    file,
    stored,
    logIn: (argv = [], before, options) =>
      svc(['login', '--no-browser', ...argv], {
        ...options,
        started: async (control) => {
          options?.started?.(control);
          const callback = await provider.visit(await shownAddress(control.stderr), 'alice');
          await before?.(callback);
          await fetch(callback);
        },
      }),
    change: (change) => {
      const whole = JSON.parse(readFileSync(file(), 'utf8'));
      whole.logins = whole.logins.map((login: StoredLogin) => ({ ...login, ...change }));
      writeFileSync(file(), JSON.stringify(whole));
    },
    async close() {
      await api.close();
      await provider.close();
    },
  };
}

export const tomlFor = (url: string, issuer: string, more = '') =>
  `default_database = "app"\n[server]\nurl = "${url}"\n[server.oidc]\nissuer = "${issuer}"\nclient_id = "svc"\n${more}`;

/** The address that a person is told to open. */
export async function shownAddress(stderr: () => string): Promise<string> {
  const found = () => /^(?:or open )?(http:\S+)( and compare the code)?$/m.exec(stderr())?.[1] ?? '';
  if (!(await waitUntil(() => found() !== '', { ms: 20_000, everyMs: 5 }))) throw new Error(`no address: ${stderr()}`);
  return found();
}

/** The claims of a bearer, not verified. */
export function claimsOf(authorization: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString() || '{}');
}

export const past = (ms = 1000) => new Date(Date.now() - ms).toISOString();
export const soon = (ms = 60_000) => new Date(Date.now() + ms).toISOString();
