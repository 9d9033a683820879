/** The scopes of SL-3. docs/slack.md has the reason of each. */
const botScopes = [
  'chat:write',
  'im:write',
  'channels:join',
  'channels:read',
  'groups:read',
  'commands',
  'users:read',
  'users:read.email',
] as const;

/**
 * What Slack makes an app from: https://docs.slack.dev/reference/app-manifest. No events, no tokens that are exchanged for others: the gateway
 * has one token and answers calls.
 */
export function slackManifest(serverUrl: string, appName: string) {
  const endpoint = (name: string) => `${serverUrl}/api/slack/${name}`;
  return {
    _metadata: { major_version: 2, minor_version: 1 },
    display_information: {
      name: appName,
      description: 'Request SQL and migrations on databases, approve them, and follow them',
    },
    features: {
      // Without this tab nobody sees the app's direct messages. Nothing reads what people would write there.
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: true },
      bot_user: { display_name: botName(appName), always_online: true },
      slash_commands: [
        {
          command: '/svc',
          url: endpoint('commands'),
          description: 'Run SQL through the database change gateway',
          usage_hint: 'execute | join | help',
          should_escape: false,
        },
      ],
    },
    oauth_config: { scopes: { bot: [...botScopes] } },
    settings: {
      interactivity: { is_enabled: true, request_url: endpoint('interactions') },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: false,
    },
  };
}

/** Slack allows no other characters in a bot's name. */
function botName(appName: string): string {
  const name = appName
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'svc' : name;
}

/** Slack's page that makes an app from a manifest, with this one filled in. */
export const newAppPage = (manifest: string): string =>
  `https://api.slack.com/apps?new_app=1&manifest_json=${encodeURIComponent(manifest)}`;
