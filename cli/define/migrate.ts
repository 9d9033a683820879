import { type Command, Option } from 'commander';
import type { Bind } from '../command.js';
import { addRequestOptions, positiveNumber } from './values.js';

/** `svc migrate`. `takesVersion`: the words are those of `repair`, whose `--version` is not the program's. */
export function defineMigrate(program: Command, bind: Bind): void {
  const migrate = program.command('migrate').description('apply SQL migration files in order, each once');
  const create = migrate
    .command('create')
    .description('create an empty migration file, offline')
    .argument('<name>', 'what it does, such as add_email_to_users');
  bind(create, async () => (await import('../commands/migrate-create.js')).createMigration);
  const after = 'send only the files after this one';
  const up = migrate
    .command('up')
    .description('apply pending migrations')
    .option('--count <n>', 'apply at most this many', positiveNumber)
    .option('--after <version>', after)
    .option('--no-preflight', 'skip the check of what is applied and what the review finds');
  bind(addRequestOptions(up), async () => (await import('../commands/migrate-run.js')).migrateUp);
  const down = migrate
    .command('down')
    .description('revert the latest migrations')
    .option('--count <n>', 'how many to revert (default: 1)', positiveNumber)
    .option('--after <version>', after)
    .option('--no-preflight', 'skip the check of what the review finds');
  bind(addRequestOptions(down), async () => (await import('../commands/migrate-run.js')).migrateDown);
  const status = migrate.command('status').description('show which migrations are applied');
  bind(addRequestOptions(status), async () => (await import('../commands/migrate-status.js')).migrateStatus);
  const lint = migrate
    .command('lint')
    .description(
      'check the files against the review rules, without a request; exit code 1 if one blocks (--format github or sarif for CI)',
    )
    .addOption(new Option('--direction <direction>', 'check only the up or the down parts').choices(['up', 'down']))
    .option('--after <version>', 'look only at the files after this one')
    .option('--strict', 'exit 1 when there is any finding');
  bind(lint, async () => (await import('../commands/migrate-lint.js')).lintMigrations);
  defineRepair(migrate, bind);
}

function defineRepair(migrate: Command, bind: Bind): void {
  const repair = migrate
    .command('repair')
    .description('correct the list of applied versions without running SQL; needs --action, --version, --emergency and --reason')
    .addOption(new Option('--action <action>', 'what to do').choices(['mark-applied', 'remove']))
    .option('--version <version>', 'migration version');
  bind(addRequestOptions(repair), async () => (await import('../commands/migrate-repair.js')).repairMigrations);
}
