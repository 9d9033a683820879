import { type Command, Option } from 'commander';
import type { Bind } from '../command.js';
import { defineIdentity } from './identity.js';
import { auditAnchor, moreNames, nameList, publicKeys, resultFormatOption, wholeNumber } from './values.js';

export function defineAdministration(program: Command, bind: Bind): void {
  defineAudit(program, bind);
  defineToken(program, bind);
  defineIdentity(program, bind);
}

const whenHelp = '7d, 12h, 30m, 2026-05-01 or an RFC 3339 time';

function defineAudit(program: Command, bind: Bind): void {
  const audit = program.command('audit').description('what happened, who did it, how it ended');
  const list = addAuditFilters(audit.command('list', { isDefault: true }).description('audit events, newest first'))
    .option('--limit <n>', 'how many', wholeNumber)
    .option('--offset <n>', 'how many to skip', wholeNumber)
    .option('--verify', 'the same as audit verify')
    .addOption(resultFormatOption());
  bind(list, async () => (await import('../commands/audit.js')).listAuditEvents);
  const exported = addAuditFilters(audit.command('export').description('sealed events, oldest first, with a signed manifest'))
    .addOption(new Option('--as <format>', 'form of the lines').choices(['ndjson', 'csv']))
    .option('--output <file>', 'write them to a file');
  bind(exported, async () => (await import('../commands/audit-export.js')).exportAudit);
  const verify = audit
    .command('verify')
    .description('was the log changed? asks the server, or checks an export alone')
    .option('--anchor <seq:hash>', 'an event known from elsewhere', auditAnchor)
    .option('--checkpoint <file>', 'a signed checkpoint that was kept elsewhere')
    .option('--file <export>', 'check this export; asks no server and reads no configuration')
    .option('--public-key <hex...>', 'trust these audit keys only; with --file', publicKeys);
  bind(verify, async () => (await import('../commands/audit-verify.js')).verifyAudit);
}

const addAuditFilters = (command: Command): Command =>
  command
    .option('--user <id>', 'by this actor')
    .option('--operation <name>', 'of this operation')
    .option('--event-type <type>', 'of this type: request.approved')
    .option('--category <name>', 'of this category: approval')
    .addOption(new Option('--outcome <name>', 'how it ended').choices(['success', 'denied', 'failure', 'info']))
    .option('--request <id>', 'about this request')
    .option('--since <when>', whenHelp)
    .option('--until <when>', whenHelp);

function defineToken(program: Command, bind: Bind): void {
  const token = program.command('token').description('API tokens');
  const subjectTypes = ['user', 'agent'];
  const create = token
    .command('create')
    .description('make a token; it is shown once')
    .option('--subject <id>', 'for whom; default: yourself')
    .option('--agent <name>', 'for this agent')
    .option('--scope <database/environment>', 'a pair that the agent may serve, * for any; may be repeated', moreNames)
    .addOption(new Option('--subject-type <type>', 'kind of subject').choices(subjectTypes))
    .option('--scope-roles <a,b>', 'the most roles it may use', nameList)
    .option('--no-scope-ceiling', 'without such a limit (agent tokens)')
    .option('--name <text>', 'a label')
    .option('--expires <when>', whenHelp);
  bind(create, async () => (await import('../commands/token.js')).createToken);
  const list = token
    .command('list')
    .description('all tokens, newest first')
    .option('--subject <id>', 'of this subject')
    .addOption(new Option('--status <status>', 'only these').choices(['active', 'expired', 'revoked']))
    .addOption(new Option('--type <type>', 'kind of subject').choices(subjectTypes));
  bind(list, async () => (await import('../commands/token.js')).listTokens);
  const revoke = token.command('revoke').description('end a token at once').argument('<id>', 'token id');
  bind(revoke, async () => (await import('../commands/token.js')).revokeToken);
  const inspect = token.command('inspect').description('what a token may do').argument('<id>', 'token id');
  bind(inspect, async () => (await import('../commands/token.js')).inspectToken);
}
