import type { Command } from 'commander';
import type { Bind } from '../command.js';
import { moreNames } from './values.js';

export function defineWhoami(program: Command, bind: Bind): void {
  const whoami = program.command('whoami').description('show who you are logged in as');
  bind(whoami, async () => (await import('../commands/whoami.js')).whoami);
}

export function defineIdentity(program: Command, bind: Bind): void {
  const user = program.command('user').description('manage users');
  defineUsers(user, bind);
  defineStatus(user, bind);
  const group = program.command('group').description('show groups');
  const list = group.command('list').description('list group names');
  bind(list, async () => (await import('../commands/group.js')).listGroups);
  const show = group.command('show').description('show the roles and members of a group').argument('<name>', 'group name');
  bind(show, async () => (await import('../commands/group.js')).showGroup);
  const roles = program.command('role').description('show roles').command('list').description('list roles and their permissions');
  bind(roles, async () => (await import('../commands/role.js')).listRoles);
}

function defineUsers(user: Command, bind: Bind): void {
  const add = user
    .command('add')
    .description('create a user; the first token is shown only once')
    .argument('<id>', 'user id')
    .option('--role <name>', 'role to give; repeatable', moreNames)
    .option('--group <name>', 'group to join; repeatable', moreNames);
  bind(add, async () => (await import('../commands/user.js')).addUser);
  const list = user.command('list').description('list users, newest first');
  bind(list, async () => (await import('../commands/user.js')).listUsers);
  const show = user.command('show').description('show a user').argument('<id>', 'user id');
  bind(show, async () => (await import('../commands/user.js')).showUser);
  const update = user
    .command('update')
    .description('change roles, groups or the Slack account, all or nothing')
    .argument('<id>', 'user id')
    .option('--role <name>', 'replace all roles by these; repeatable', moreNames)
    .option('--add-role <name>', 'role to add; repeatable', moreNames)
    .option('--rm-role <name>', 'role to remove; repeatable', moreNames)
    .option('--add-group <name>', 'group to join; repeatable', moreNames)
    .option('--rm-group <name>', 'group to leave; repeatable', moreNames)
    .option('--slack-user-id <id>', 'Slack user to link; "" removes the link');
  bind(update, async () => (await import('../commands/user-change.js')).updateUser);
}

function defineStatus(user: Command, bind: Bind): void {
  const suspend = user
    .command('suspend')
    .description('suspend a user: revoke their tokens and cancel their requests')
    .argument('<id>', 'user id');
  bind(suspend, async () => (await import('../commands/user-change.js')).suspendUser);
  const activate = user.command('activate').description('reactivate a suspended user').argument('<id>', 'user id');
  bind(activate, async () => (await import('../commands/user-change.js')).activateUser);
  const remove = user.command('rm').description('delete a user permanently').argument('<id>', 'user id');
  bind(remove, async () => (await import('../commands/user-change.js')).removeUser);
  const reissue = user
    .command('reissue-initial-token')
    .description('replace the first token; the new one is shown only once, unless Slack delivers it')
    .argument('<id>', 'user id');
  bind(reissue, async () => (await import('../commands/user-change.js')).reissueInitialToken);
}
