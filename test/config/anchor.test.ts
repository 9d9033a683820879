import { describe, expect, it } from 'vitest';
import { listRestartKeys } from '../../config/reload.js';
import { configOf, errorsOf, MINIMAL } from './support.js';

const audit = (...lines: string[]) => `${MINIMAL}[audit]\n${lines.join('\n')}\n`;
const url = 'anchor_url = "https://anchor.example.net/checkpoints"';

describe('the keys of the anchor (AU-89)', () => {
  it('are a command with arguments that may repeat, whose path starts in the folder of the file, or an address', () => {
    const { anchorCommand } = configOf(audit('anchor_command = ["./bin/anchor", "-c", "./a", "-c", "b"]')).audit;
    expect(anchorCommand[0]).toMatch(/^\/.*svc-config-\w+\/bin\/anchor$/);
    expect(anchorCommand.slice(1)).toEqual(['-c', './a', '-c', 'b']);
    expect(configOf(audit('anchor_command = ["git"]')).audit.anchorCommand).toEqual(['git']);
    const variables = { T: 'bearer' };
    expect(configOf(audit(url, `anchor_token = "\${T}"`), variables).audit).toMatchObject({
      anchorCommand: [],
      anchorUrl: 'https://anchor.example.net/checkpoints',
      anchorToken: 'bearer',
      anchorTimeoutSecs: 60,
    });
    expect(configOf(MINIMAL).audit).toMatchObject({ anchorCommand: [], anchorUrl: null, anchorToken: null });
  });

  it('are not both set, and each error names its key and no secret', () => {
    expect(errorsOf(audit('anchor_command = ["x"]', url))).toEqual([
      expect.stringMatching(/audit: anchor_command and anchor_url must not both be set$/),
    ]);
    expect(errorsOf(audit('anchor_token = "secret-marker"'))).toEqual([
      expect.stringMatching(/audit.anchor_token: needs anchor_url$/),
    ]);
    const bad: [string, RegExp][] = [
      ['anchor_command = "x"', /audit.anchor_command: must be a list$/],
      ['anchor_command = ["x", 1]', /audit.anchor_command\[1\]: must be a string$/],
      ['anchor_command = [""]', /audit.anchor_command\[0\]: must not be empty$/],
      ['anchor_command = ["x", "a\\u0000b"]', /audit.anchor_command\[1\]: contains a NUL character$/],
      ['anchor_url = "ftp://x/"', /audit.anchor_url: must be an http or https address$/],
      ['anchor_url = "https://user:pw@x/"', /audit.anchor_url: must not hold a user name or password$/],
      ['anchor_url = "http://169.254.169.254/latest"', /audit.anchor_url: must not be a link-local or metadata address$/],
      ['anchor_url = "http://[fe80::1]/"', /audit.anchor_url: must not be a link-local or metadata address$/],
      ['anchor_url = "http://[fd00:ec2::254]/"', /audit.anchor_url: must not be a link-local or metadata address$/],
      ['anchor_timeout_secs = 0', /audit.anchor_timeout_secs: must be 1 to 600$/],
    ];
    for (const [line, message] of bad) expect(errorsOf(audit(line)), line).toEqual([expect.stringMatching(message)]);
    const token = errorsOf(audit(url, 'anchor_token = "secret marker"'));
    expect(token).toEqual([expect.stringMatching(/audit.anchor_token: must be printable ASCII without white space$/)]);
    expect(token[0]).not.toContain('marker');
  });

  it('send a token over https, and over http to this machine and private hosts only', () => {
    const withToken = (address: string) => errorsOf(audit(`anchor_url = "${address}"`, 'anchor_token = "t"'));
    for (const address of ['https://a.example/', 'http://127.0.0.1:9/', 'http://localhost/', 'http://10.1.2.3/'])
      expect(withToken(address)).toEqual([]);
    expect(withToken('http://a.example/')).toEqual([expect.stringMatching(/audit.anchor_url: must be https with anchor_token/)]);
    expect(errorsOf(audit('anchor_url = "http://a.example/"'))).toEqual([]);
  });

  it('need a restart', () => {
    const [none, some] = [configOf(MINIMAL), configOf(audit(url, 'anchor_token = "t"', 'anchor_timeout_secs = 5'))];
    expect(listRestartKeys(none, some).filter((key) => key.startsWith('audit.'))).toEqual([
      ...['audit.anchor_url', 'audit.anchor_token', 'audit.anchor_timeout_secs'],
    ]);
    expect(listRestartKeys(none, configOf(audit('anchor_command = ["x"]')))).toContain('audit.anchor_command');
  });
});
