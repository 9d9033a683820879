import { type Command, Option } from 'commander';
import type { Bind } from '../command.js';
import { addRequestOptions, positiveNumber } from './values.js';

/** `svc migrate`. `takesVersion`: the words are those of `repair`, whose `--version` is not the program's. */
export function defineMigrate(program: Command, bind: Bind): void {
  const migrate = program.command('migrate').description('migrations: files of SQL that are applied once, in order');
  const create = migrate
    .command('create')
    .description('make an empty migration file; asks no server')
    .argument('<name>', 'what it does: add_email_to_users');
  bind(create, async () => (await import('../commands/migrate-create.js')).createMigration);
  const after = 'send only the files after this one';
  const up = migrate
    .command('up')
    .description('apply what is not applied yet')
    .option('--count <n>', 'apply at most so many', positiveNumber)
    .option('--after <version>', after);
  bind(addRequestOptions(up), async () => (await import('../commands/migrate-run.js')).migrateUp);
  const down = migrate
    .command('down')
    .description('revert the latest applied ones')
    .option('--count <n>', 'how many (1)', positiveNumber)
    .option('--after <version>', after);
  bind(addRequestOptions(down), async () => (await import('../commands/migrate-run.js')).migrateDown);
  const status = migrate.command('status').description('which files are applied, which are not');
  bind(addRequestOptions(status), async () => (await import('../commands/migrate-status.js')).migrateStatus);
  defineRepair(migrate, bind);
}

function defineRepair(migrate: Command, bind: Bind): void {
  const repair = migrate
    .command('repair')
    .description(
      'correct the list of applied versions without running anything; needs --action, --version, --emergency and --reason',
    )
    .addOption(new Option('--action <action>', 'what to do').choices(['mark-applied', 'remove']))
    .option('--version <version>', 'of which migration');
  bind(addRequestOptions(repair), async () => (await import('../commands/migrate-repair.js')).repairMigrations);
}
