import { type Command, Option } from 'commander';
import { collect, type Finish } from '../command-definition.ts';
import type { ApiKeyOptions } from './api-keys.ts';
import type { SetupOptions, StatusOptions } from './database.ts';
import type { SignOptions, VerifyOptions } from './jwt.ts';
import type { HashOptions } from './secrets.ts';

/** The schemes of `auth_basic`, listed here so that a command line does not load the module. */
const SCHEMES = ['bcrypt', 'sha512', 'sha256', 'apr1', 'md5', 'ssha', 'sha', 'plain'];

/** Adds the commands for tokens, secrets and passwords. */
export function addCredentials(gw: Command, finish: Finish): void {
  addTokens(gw.command('jwt').description('sign, verify and inspect JSON Web Tokens'), finish);
  gw.command('secret')
    .description('print a random secret, as base64url')
    .option('--bytes <count>', 'random bytes', '32')
    .action(async (options: { bytes: string }) => {
      finish((await import('./secrets.ts')).secret(options));
    });
  const apikey = gw.command('apikey').description('make API keys for auth_api_key');
  apikey.on('command:*', ([name]: readonly string[]) =>
    apikey.error(`error: unknown command '${name}'\n  expected new; to revoke a key, remove its line`),
  );
  apikey
    .command('new <id>')
    .description('print a new key, and the line for auth_api_key_file, which has only its hash')
    .option('--ttl <time>', 'how long it is valid, such as 90d (default: for ever)')
    .option('--set <name=value>', 'an attribute, for $api_key_NAME; may be repeated', collect, [])
    .option('--file <file>', 'append the line to this file instead of printing it')
    .action(async (id: string, options: ApiKeyOptions) => {
      finish((await import('./api-keys.ts')).newApiKey(id, options));
    });
  gw.command('hash-password')
    .description(
      'print what a user file of auth_basic stores; the password is asked for, or comes from standard input',
    )
    .addOption(
      new Option('-s, --scheme <name>', 'the form in which it is stored').choices(SCHEMES).default('bcrypt'),
    )
    .option('--cost <number>', 'for bcrypt: the logarithm of its rounds', '12')
    .option('--rounds <count>', 'for sha256 and sha512: their number', '5000')
    .option('-u, --user <name>', 'print a whole line of a user file')
    .action(async (options: HashOptions) => {
      finish(await (await import('./secrets.ts')).printHash(options));
    });
}

function withSecret(command: Command): Command {
  return command
    .option('--secret <text>', 'the secret, a JWK or a JWK set; other users of this machine may see it')
    .option(
      '--secret-file <file>',
      'read it from this file, "-" for standard input (default: $GW_JWT_SECRET)',
    );
}

function addTokens(jwt: Command, finish: Finish): void {
  withSecret(jwt.command('sign [payload]'))
    .description('print a token with these claims; the payload is a JSON object')
    .option('--role <name>', 'the claim "role"')
    .option('--claim <name=value>', 'a claim; its value may be JSON; may be repeated', collect, [])
    .option('--exp <time>', 'how long it is valid, such as 30s, 1h or 7d, or "never"', '1h')
    .option('--alg <name>', 'the algorithm (default: the one of the key)')
    .option('--kid <id>', 'the id of the key in a set')
    .action(async (payload: string | undefined, options: SignOptions) => {
      finish(await (await import('./jwt.ts')).sign(payload, options));
    });
  withSecret(jwt.command('verify [token]'))
    .description('tell whether a location with this secret accepts a token, and if not, why')
    .option('--audience <name>', 'as dbrest_jwt_audience')
    .option('--json', 'as JSON, for programs')
    .action(async (token: string | undefined, options: VerifyOptions) => {
      finish(await (await import('./jwt.ts')).verify(token, options));
    });
  jwt
    .command('inspect [token]')
    .description('show what a token says, without verifying it')
    .option('--json', 'as JSON, for programs')
    .action(async (token: string | undefined, options: { json?: boolean }) => {
      finish(await (await import('./jwt.ts')).inspect(token, options));
    });
}

/** Adds `gw db`. */
export function addDatabase(gw: Command, finish: Finish): void {
  const db = gw
    .command('db')
    .description('prepare a PostgreSQL database for dbrest, or as the store of a cluster');
  withNames(db.command('setup'))
    .description(
      'print the SQL for roles, schema and the event trigger that announces changes; safe to repeat',
    )
    .option('--apply', 'run it, as a superuser, in one transaction')
    .option('--password-file <file>', 'give the login role this password; "-" for standard input')
    .option(
      '--grant-tables',
      'let the anonymous role read all tables of the schema, and the other role write them',
    )
    .option('--cache', 'let the tables of the schema announce writes to the caches of dbrest_cache')
    .option('--watch <table...>', 'let these tables (schema.table) announce changes of rows, for dbrest_live')
    .option('--no-trigger', 'leave out the event trigger, which only a superuser can make')
    .option('-c, --config <file>', 'take roles and schema from the location of a configuration')
    .option('--location <path>', 'the location, by its path or its place')
    .addOption(
      clusterOption().conflicts([...DBREST_NAMES, 'grantTables', 'cache', 'watch', 'trigger', 'config']),
    )
    .action(async (options: SetupOptions, command: Command) => {
      finish(await (await import('./database.ts')).setup(options, isGivenTo(command)));
    });
  withNames(db.command('status'))
    .description('tell which of these a database has, and which it lacks')
    .option('-c, --config <file>', 'take database, roles and schemas from the location of a configuration')
    .option('--location <path>', 'the location, by its path or its place')
    .addOption(clusterOption().conflicts([...DBREST_NAMES, 'config']))
    .action(async (options: StatusOptions, command: Command) => {
      finish(await (await import('./database.ts')).status(options, isGivenTo(command)));
    });
}

/** Returns what tells whether an option stands on the command line, rather than having its default. */
const isGivenTo =
  (command: Command) =>
  (name: string): boolean =>
    command.getOptionValueSource(name) === 'cli';

const DBREST_NAMES = ['authenticator', 'anon', 'user', 'schema'];

function clusterOption(): Option {
  return new Option('--cluster', 'prepare the store of a cluster instead ("backend postgres://…")');
}

function withNames(command: Command): Command {
  return command
    .option('--dsn <dsn>', 'the database, as dbrest_pass takes it (default: $DATABASE_URL)')
    .option('--authenticator <role>', 'the role that dbrest_pass logs in with', 'authenticator')
    .option('--anon <role>', 'the role of requests without a token', 'anon')
    .option('--user <role>', 'the role of requests with a token', 'web_user')
    .option('--schema <name>', 'the schema that is served', 'api')
    .option('--cluster-role <role>', 'the role that gateways of a cluster log in with', 'gw_cluster')
    .option('--json', 'as JSON, for programs');
}
