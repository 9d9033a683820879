import type { Context } from '../context.js';
import { newAppPage, slackManifest } from '../init/slack-manifest.js';
import { openPage } from '../open-page.js';
import type { Answer } from '../output/output.js';

export interface SlackInitOptions {
  serverUrl: string;
  appName: string;
  manifestOnly?: boolean;
  open?: boolean;
}

/** `svc slack init` (cli.md section 6): prints the manifest from which Slack makes the gateway's app. Calls no server. */
export async function initSlack(context: Context, _: readonly string[], options: SlackInitOptions): Promise<Answer> {
  const { serverUrl, appName, manifestOnly = false, open = false } = options;
  const manifest = slackManifest(serverUrl, appName);
  const page = newAppPage(JSON.stringify(manifest));
  const isOpen = open && (await openPage(page, context.terminal.environment));
  const address = open ? [isOpen ? 'Opened in your browser:' : 'No browser could be started. Open:', `  ${page}`] : [];
  const notes = [...address, ...(manifestOnly ? [] : nextSteps(open))];
  return {
    data: JSON.stringify(manifestOnly ? manifest : { manifest, page }),
    human: () => `${JSON.stringify(manifest, null, 2)}\n`,
    ...(notes.length === 0 ? {} : { note: notes.join('\n') }),
  };
}

const nextSteps = (isFilledIn: boolean): string[] => [
  isFilledIn
    ? 'Next: choose your workspace on that page, create the app, install it, then'
    : 'Next: https://api.slack.com/apps, Create New App, From a manifest: paste it, create the app, install it, then',
  '  give the server and the worker SLACK_BOT_TOKEN (OAuth & Permissions, Bot User OAuth Token: xoxb-…)',
  '    and SLACK_SIGNING_SECRET (Basic Information, App Credentials), as [slack] of server.toml names them',
  '  /invite the app into the channel of slack.channel',
  '  svc user update ID --slack-user-id U…    links each person (profile, Copy member ID)',
];
