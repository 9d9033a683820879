import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppsManifestValidateArguments } from '@slack/web-api';
import { describe, expect, it } from 'vitest';
import { slackManifest } from '../../cli/init/slack-manifest.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { runSvc } from './run-svc.js';

const url = 'https://gate.example.com';
const init = (...more: string[]) => runSvc(['slack', 'init', '--server-url', url, ...more]);

describe('svc slack init (cli.md section 6)', () => {
  it('prints a manifest with both endpoints, the command and the scopes of the gateway (SL-3)', async () => {
    const { code, stdout, stderr } = await init();
    expect(code).toBe(0);
    const manifest = JSON.parse(stdout);
    expect(manifest.features.slash_commands).toMatchObject([{ command: '/svc', url: `${url}/api/slack/commands` }]);
    expect(manifest.settings.interactivity).toEqual({ is_enabled: true, request_url: `${url}/api/slack/interactions` });
    const rule = readFileSync('docs/rules/slack.md', 'utf8').match(/Scopes: ([\s\S]*?)\.\n/)?.[1] ?? '';
    expect(manifest.oauth_config.scopes.bot).toEqual([...rule.matchAll(/`([^`]+)`/g)].map(([, scope]) => scope));
    expect(stderr).toMatch(/SLACK_BOT_TOKEN[\s\S]*--slack-user-id/);
  });

  it('keeps to the forms and limits that Slack publishes', async () => {
    const name = 'Über-Gateway ♥ 1234567890 123456789012';
    // The type is Slack's own.
    const manifest: AppsManifestValidateArguments['manifest'] = slackManifest(url, name.slice(0, 35));
    const { display_information: shown, features, settings } = manifest;
    expect(shown.name.length).toBeLessThanOrEqual(35);
    expect(shown.description?.length).toBeLessThanOrEqual(140);
    expect(features?.bot_user?.display_name).toMatch(/^[a-z0-9._-]{1,80}$/);
    const [command] = features?.slash_commands ?? [];
    expect(command?.command).toMatch(/^\/.{1,31}$/);
    expect(command?.description.length).toBeLessThanOrEqual(2000);
    expect(command?.usage_hint?.length).toBeLessThanOrEqual(1000);
    for (const address of [command?.url, settings?.interactivity?.request_url]) expect(address).toMatch(/^https:/);
    expect(settings).toMatchObject({ socket_mode_enabled: false, token_rotation_enabled: false });
    expect(slackManifest(url, '♥').features.bot_user.display_name).toBe('svc');
  });

  it('takes the name of the app, a path before the endpoints, and says nothing else with --manifest-only', async () => {
    const words = ['slack', 'init', '--server-url', 'https://example.com/gate/', '--app-name', ' Gate ', '--manifest-only'];
    const { stdout, stderr } = await runSvc(words);
    expect(stderr).toBe('');
    const manifest = JSON.parse(stdout);
    expect(manifest.display_information.name).toBe('Gate');
    expect(manifest.settings.interactivity.request_url).toBe('https://example.com/gate/api/slack/interactions');
    expect(JSON.parse((await runSvc([...words, '--json'])).stdout)).toEqual({ ok: true, data: manifest });
  });

  it('tells the page on which Slack makes the app of it', async () => {
    const { data } = JSON.parse((await init('--json')).stdout);
    const page = new URL(data.page);
    expect(page.origin + page.pathname).toBe('https://api.slack.com/apps');
    expect(page.searchParams.get('new_app')).toBe('1');
    expect(JSON.parse(page.searchParams.get('manifest_json') ?? '')).toEqual(data.manifest);
  });

  it.skipIf(process.platform !== 'linux')('opens that page with --open, or prints it where nothing opens pages', async () => {
    const folder = await temporaryFolder();
    const opened = join(folder, 'opened');
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > "${opened}.new" && mv "${opened}.new" "${opened}"\n`);
    chmodSync(join(folder, 'xdg-open'), 0o755);
    const run = (PATH: string) => runSvc(['slack', 'init', '--server-url', url, '--open'], { environment: { PATH } });
    const { stderr } = await run(`${folder}:${process.env.PATH}`);
    await eventually(() => existsSync(opened));
    expect(stderr).toContain(`Opened in your browser:\n  ${readFileSync(opened, 'utf8')}\n`);
    const none = await run('/nonexistent');
    expect([none.code, none.stderr]).toEqual([
      0,
      expect.stringContaining('No browser could be started. Open:\n  https://api.slack.com/apps?'),
    ]);
  });

  it.each([
    [['--server-url', 'http://gate.example.com'], 'https'],
    [['--server-url', 'gate.example.com'], 'https'],
    [['--server-url', 'https://user:word@gate.example.com'], 'without user'],
    [['--server-url', 'https://gate.example.com/?a=1'], 'query'],
    [['--server-url', url, '--app-name', 'x'.repeat(36)], '35 characters'],
    [['--server-url', url, '--app-name', ' '], '35 characters'],
    [[], '--server-url'],
  ])('refuses %j', async (words, told) => {
    const { code, stdout, stderr } = await runSvc(['slack', 'init', ...words]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(told);
  });
});
