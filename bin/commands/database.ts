import type { Command } from 'commander';
import type { DbOptions, SetupOptions } from './db.ts';

type Finish = (code: number) => void;

/** The commands that prepare a database for dbrest. */
export function addDatabase(gw: Command, finish: Finish): void {
  const db = gw.command('db').description('prepare a PostgreSQL database for dbrest');
  withNames(db.command('setup'))
    .description(
      'print the SQL for roles, schema and the event trigger that announces changes; safe to repeat',
    )
    .option('--apply', 'run it, as a superuser, in one transaction')
    .option('--password-file <file>', 'give the login role this password; "-" for standard input')
    .option(
      '--grant-tables',
      'let the anonymous role read all tables of the schema, the other one write them',
    )
    .option('--no-trigger', 'without the event trigger, which takes a superuser')
    .action(async (options: SetupOptions) => {
      finish(await (await import('./db.ts')).setup(options));
    });
  withNames(db.command('status'))
    .description('tell what a database has of that, and lacks')
    .action(async (options: DbOptions) => {
      finish(await (await import('./db.ts')).status(options));
    });
}

function withNames(command: Command): Command {
  return command
    .option('--dsn <dsn>', 'the database, as dbrest_pass takes it (default: $DATABASE_URL)')
    .option('--authenticator <role>', 'the role that dbrest_pass logs in with', 'authenticator')
    .option('--anon <role>', 'the role of requests without a token', 'anon')
    .option('--user <role>', 'the role of requests with a token', 'web_user')
    .option('--schema <name>', 'the schema that is served', 'api')
    .option('--json', 'as JSON, for programs');
}
