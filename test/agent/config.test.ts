import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-agent-config-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const server = '[server]\nurl = "http://localhost:3000/base//"\nagent_token = " svc_x "\n';
const database = '[databases.shop.staging]\nurl = "postgres://u@localhost/d"\n';

function load(text: string, variables: Record<string, string> = {}) {
  const file = join(directory, 'agent.toml');
  writeFileSync(file, text);
  return loadAgentConfig(file, variables);
}

describe('agent.toml', () => {
  it('applies the defaults of the key table', () => {
    const config = load(server + database);
    expect(config).toMatchObject({
      maxConcurrentTasks: 8,
      pollWaitMs: 20_000,
      operations: ['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'migrate_status'],
      server: { url: 'http://localhost:3000/base', agentToken: 'svc_x' },
      limits: { maxRows: 10_000, maxResultBytes: 10_485_760, maxRowBytes: 16_777_216 },
      marker: { mode: 'auto', schema: null, table: 'svc_execution_marker', retentionDays: 180 },
      databases: [
        {
          database: 'shop',
          environment: 'staging',
          url: 'postgres://u@localhost/d',
          readUrl: 'postgres://u@localhost/d',
          poolMax: null,
        },
      ],
    });
  });

  it('expands variables in values only, and reads files beside it (AP-01)', () => {
    writeFileSync(join(directory, 'token'), 'svc_file\n');
    const config = load(
      `agent_id = "a-\${NAME}-\${EMPTY:-d}-\${NONE:-d}-$\${x}" # \${UNKNOWN}
[server]
url = "https://gateway.example"
agent_token_file = "token"
${database}read_url = "\${READ:-postgresql://r@localhost/d}"`,
      { NAME: 'n', EMPTY: '' },
    );
    expect(config.agentId).toBe('a-n--d-$'.concat('{x}'));
    expect(config.server.agentToken).toBe('svc_file');
    expect(config.databases[0]?.readUrl).toBe('postgresql://r@localhost/d');
  });

  it.each<[string, string | null, string]>([
    ['an unknown key', `tokn = 1\n${server}${database}`, 'unknown key tokn'],
    ['an unknown key in a table', `${server}tokn = 1\n${database}`, 'unknown key server.tokn'],
    ['a wrong type', `max_concurrent_tasks = "8"\n${server}${database}`, 'max_concurrent_tasks: '],
    ['no database', `${server}[databases]\n`, 'databases: at least one'],
    [
      'an unsupported scheme',
      `${server}[databases.shop.staging]\nurl = "oracle://h"`,
      'databases.shop.staging.url: must begin with postgres://, postgresql://, mysql:// or mariadb://',
    ],
    ['a bad name', `${server}[databases.Shop.staging]\nurl = "postgres://h/d"`, 'databases.Shop: '],
    ['an undefined variable', `agent_id = "\${NOPE}"\n${server}${database}`, 'agent_id: environment variable NOPE is not set'],
    ['a missing address', `[server]\nagent_token = "x"\n${database}`, 'server.url: is required'],
    ['a missing token', `[server]\nurl = "http://h"\n${database}`, 'server.agent_token: '],
    [
      'an empty token file',
      `[server]\nurl = "http://h"\nagent_token_file = "empty"\n${database}`,
      'server.agent_token_file: is empty',
    ],
    [
      'a missing file',
      `[server]\nurl = "http://h"\nagent_token_file = "none"\n${database}`,
      'server.agent_token_file: no such file',
    ],
    [
      'a value and its file',
      `${server}agent_token_file = "empty"\n${database}`,
      'server.agent_token and server.agent_token_file exclude',
    ],
    [
      'plain http to the outside',
      `[server]\nurl = "http://gateway.example"\nagent_token = "x"\n${database}`,
      'plain http to gateway.example',
    ],
    ['no TOML', 'a = ', 'agent.toml:1:5: '],
    ['a file that is not there', null, 'agent.toml: no such file'],
    ['a server.toml', 'state_dir = "state"\n[server]\nlisten = "a:1"', 'agent.toml: this is a server.toml, which "svc server"'],
    ['a svc.toml', 'default_database = "a"\n[server]\nurl = "http://a:1"', 'agent.toml: this is a svc.toml, which "svc" reads'],
  ])('refuses %s and names it (section 12)', (_, text, message) => {
    writeFileSync(join(directory, 'empty'), ' \n');
    if (text === null) rmSync(join(directory, 'agent.toml'), { force: true });
    expect(() => (text === null ? loadAgentConfig(join(directory, 'agent.toml'), {}) : load(text))).toThrow(message);
  });

  it('lets the environment allow plain http and set the log (AP-02)', () => {
    const outside = `[server]\nurl = "http://gateway.example"\nagent_token = "x"\n${database}`;
    expect(() => load(outside)).toThrow('plain http');
    expect(load(outside.replace('[databases', 'allow_insecure = true\n[databases')).server.url).toBe('http://gateway.example');
    const config = load(outside, { SVC_ALLOW_INSECURE: '1', SVC_LOG_LEVEL: 'debug', SVC_LOG_FORMAT: 'json' });
    expect(config.log).toEqual({ level: 'debug', format: 'json' });
    for (const other of ['yes', 'TRUE', '0', ''])
      expect(() => load(outside, { SVC_ALLOW_INSECURE: other })).toThrow('plain http');
    expect(() => load(server + database, { SVC_LOG_LEVEL: 'loud' })).toThrow(
      'SVC_LOG_LEVEL: must be one of error, warn, info, debug',
    );
    expect(load(server + database, { SVC_LOG_FORMAT: '' }).log).toEqual({ level: 'info', format: 'text' });
  });

  it('tells where a file breaks, and quotes none of it (AP-03)', () => {
    const broken = () => load('[server]\nurl = "http://h"\nagent_token = "svc_secret_word\n');
    expect(broken).toThrow(/agent\.toml:3:\d+: /);
    expect(broken).not.toThrow(/svc_secret_word/);
  });

  it('expands no key, no comment, nothing twice, and only what is well formed (AP-01)', () => {
    const id = (text: string, variables = {}) => load(`agent_id = '${text}'\n${server}${database}`, variables).agentId;
    expect(id('$'.concat('{A}'), { A: '$'.concat('{B}') })).toBe('$'.concat('{B}'));
    expect(id(`\${A:-x:-y}\${B:-}z`)).toBe('x:-yz');
    expect(id(`$A $$ $\${A}`)).toBe(`$A $$ \${A}`);
    for (const wrong of ['{}', '{A B}', '{1A}', '{A-x}'])
      expect(() => id(`$${wrong}`)).toThrow('agent_id: no variable name after');
    const key = `[databases."\${A}".b]\nurl = "postgres://u@localhost/d"`;
    expect(() => load(`${server}${database}${key}`, { A: 'a' })).toThrow(`databases.\${A}: `);
  });
});
