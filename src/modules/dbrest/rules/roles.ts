import type { ModuleRule, Problem } from '../../../contract/index.ts';
import { type DbrestConfig, loginRoleOf } from '../directives/index.ts';
import { servedDatabases } from './served.ts';

const SUPERUSERS: ReadonlySet<string> = new Set(['postgres', 'supabase_admin', 'rdsadmin', 'enterprisedb']);

/** Returns whether a role is a superuser on common platforms. */
function isSuperuser(role: string | undefined): boolean {
  return role !== undefined && SUPERUSERS.has(role);
}

const dbrestSuperuser: ModuleRule<DbrestConfig> = {
  id: 'GW601',
  slug: 'dbrest-superuser',
  severity: 'error',
  summary: 'requests reach the database as a superuser',
  why: 'A superuser can become any role, and row security does not apply to it. A token that names another superuser, or a function that resets the role, gets access to the whole server.',
  fix: 'Log in as a dedicated role, "authenticator noinherit", that has been granted only the roles of requests.',
  bad: {
    text: 'location /api/ { dbrest_pass postgresql://postgres@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node, settings } of servedDatabases(config)) {
      const { pass } = settings;
      if (pass?.kind !== 'server' || !isSuperuser(pass.target.user)) continue;
      yield {
        at: node,
        message: `"dbrest_pass" connects as "${pass.target.user}" (superuser): row security is not applied to it`,
        hint: 'connect as a role "authenticator noinherit" that has been granted only the roles of requests',
      };
    }
  },
};

const dbrestSuperuserAnon: ModuleRule<DbrestConfig> = {
  id: 'GW602',
  slug: 'dbrest-superuser-no-anon',
  severity: 'error',
  summary: 'unauthenticated requests run as a superuser',
  why: 'Anyone can read and write everything: neither privileges nor row security apply to a superuser.',
  fix: 'Name a role with only those privileges that anyone may have.',
  bad: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role postgres; }' },
  good: { text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config): Iterable<Problem> {
    const named = config.uses('dbrest_anon_role').map(({ node, block }) => {
      return { node, role: config.configIn(block).anonRole };
    });
    const unnamed = servedDatabases(config).flatMap(({ node, block, settings }) => {
      const { anonRole, jwtKeys, databaseSettings, pass } = settings;
      const needsToken = jwtKeys !== undefined || block.effective('auth_jwt').length > 0;
      const isUnknown = anonRole !== undefined || needsToken || databaseSettings;
      return pass && !isUnknown ? [{ node, role: loginRoleOf(pass) }] : [];
    });
    for (const { node, role } of [...named, ...unnamed]) {
      if (!isSuperuser(role)) continue;
      yield {
        at: node,
        message: `unauthenticated requests run as "${role}", a superuser`,
        hint: 'name a role with only those privileges that anyone may have',
      };
    }
  },
};

const dbrestNoAuth: ModuleRule<DbrestConfig> = {
  id: 'GW603',
  slug: 'dbrest-no-auth',
  severity: 'warning',
  summary: 'every request runs as the role that the gateway logs in with',
  why: 'Without a secret, no token is accepted, and there is no anonymous role: anyone has all rights of the login role.',
  fix: 'Set "dbrest_anon_role" for unauthenticated requests, "dbrest_jwt_secret" for tokens, or both.',
  bad: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role anon; }',
  },
};

const dbrestAnonLogin: ModuleRule<DbrestConfig> = {
  id: 'GW618',
  slug: 'dbrest-anon-login',
  severity: 'warning',
  summary: 'unauthenticated requests run as the role that the gateway logs in with',
  why: 'That role can become all others, so requests have the rights of all roles.',
  fix: 'Make the gateway log in as a dedicated role, and grant the anonymous role to it.',
  bad: {
    text: 'location /api/ { dbrest_pass postgresql://web@localhost/app; dbrest_schemas api; dbrest_anon_role web; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass postgresql://authenticator@localhost/app; dbrest_schemas api; dbrest_anon_role web; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of servedDatabases(config)) {
      const { pass, anonRole } = settings;
      if (pass?.kind !== 'server' || anonRole === undefined || pass.target.user !== anonRole) continue;
      if (isSuperuser(anonRole)) continue;
      yield {
        at: config.nodesIn(block, 'anonRole')[0] ?? node,
        message: `"dbrest_anon_role" is the role that "dbrest_pass" logs in with, so requests have all its rights`,
        related: [{ span: node.name.span, label: 'logs in as the same role' }],
      };
    }
  },
};

const dbrestMcpOpen: ModuleRule<DbrestConfig> = {
  id: 'GW628',
  slug: 'dbrest-mcp-open',
  severity: 'warning',
  summary: 'tools that change a database, without authentication',
  why: 'With "dbrest_mcp write", a client without a token can change whatever the anonymous role may change, and a model may call tools without approval.',
  fix: 'Remove "dbrest_anon_role" from this location, so that a token is required, or offer only tools that read: "dbrest_mcp on;".',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_mcp write; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_mcp on; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of servedDatabases(config)) {
      if (settings.mcp !== 'write' || settings.anonRole === undefined) continue;
      yield {
        at: config.nodesIn(block, 'mcp')[0] ?? node,
        message: `"dbrest_mcp write" lets clients without a token change what "${settings.anonRole}" may change`,
        hint: 'remove "dbrest_anon_role" here, or use "dbrest_mcp on"',
      };
    }
  },
};

const dbrestRoleSuperuser: ModuleRule<DbrestConfig> = {
  id: 'GW650',
  slug: 'dbrest-role-superuser',
  severity: 'error',
  live: true,
  summary: 'a role to which neither privileges nor row security apply',
  why: 'A request that runs as this role can read and write everything.',
  fix: 'Remove "superuser" and "bypassrls" from the role, or log in as another one: "create role authenticator login noinherit".',
  bad: {
    text: `# create role admin login superuser
location /api/ { dbrest_pass postgresql://admin@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
  good: {
    text: `# create role authenticator login noinherit
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

const dbrestAnonMissing: ModuleRule<DbrestConfig> = {
  id: 'GW651',
  slug: 'dbrest-anon-missing',
  severity: 'error',
  live: true,
  summary: 'an anonymous role that the gateway cannot switch to',
  why: 'All requests without a token fail.',
  fix: 'Create the role, and grant it to the role that "dbrest_pass" logs in with.',
  bad: {
    text: `# there is no role "nobody"
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role nobody; }`,
  },
  good: {
    text: `# grant anon to authenticator
location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }`,
  },
};

/** Rules about the roles that requests run as. */
export const ROLE_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestSuperuser,
  dbrestSuperuserAnon,
  dbrestNoAuth,
  dbrestAnonLogin,
  dbrestMcpOpen,
  dbrestRoleSuperuser,
  dbrestAnonMissing,
];

const LOCATION =
  'location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }';

const dbrestViewUnsecured: ModuleRule<DbrestConfig> = {
  id: 'GW657',
  slug: 'dbrest-view-unsecured',
  severity: 'warning',
  live: true,
  summary: 'a view that shows rows regardless of the policies of their table',
  why: 'A view reads its tables as its owner, to whom row security may not apply, and a materialized view has the rows of its last refresh. Any role that may select from it sees all of them.',
  fix: 'From PostgreSQL 15 on: "alter view … set (security_invoker = true)". Revoke the privilege on materialized views, and on views of older versions. If it is intended, ignore the finding: "# gw-ignore GW657: …".',
  bad: {
    text: `# create view api.all_notes as select * from api.notes; grant select on api.all_notes to anon
${LOCATION}`,
  },
  good: {
    text: `# alter view api.all_notes set (security_invoker = true)
${LOCATION}`,
  },
};

const dbrestPolicyRecursive: ModuleRule<DbrestConfig> = {
  id: 'GW658',
  slug: 'dbrest-policy-recursive',
  severity: 'error',
  live: true,
  summary: 'a policy that leads back to its own table',
  why: 'Its condition reads a table whose policies, directly or through other tables, read the first table again. PostgreSQL refuses each request for it with 42P17.',
  fix: 'Read the other table in a "security definer" function, and call that in the policy.',
  bad: {
    text: `# create policy team on api.members using (team_id in (select team_id from api.members where user_id = api.me()))
${LOCATION}`,
  },
  good: {
    text: `# create policy team on api.members using (team_id in (select api.my_teams()))
${LOCATION}`,
  },
};

const dbrestOverloadAmbiguous: ModuleRule<DbrestConfig> = {
  id: 'GW659',
  slug: 'dbrest-overload-ambiguous',
  severity: 'warning',
  live: true,
  summary: 'a function that no request can call',
  why: 'Among functions of one name, the names of the arguments decide, not their types. Another function accepts all names that this one accepts, so each call is refused (PGRST203).',
  fix: 'Rename the function or its arguments, or drop one of the two.',
  bad: {
    text: `# create function api.find(key int) …; create function api.find(key text) …
${LOCATION}`,
  },
  good: {
    text: `# create function api.find(id int) …; create function api.find(key text) …
${LOCATION}`,
  },
};

/** Rules about the effects of policies and overloads of a database. */
export const SECURITY_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestViewUnsecured,
  dbrestPolicyRecursive,
  dbrestOverloadAmbiguous,
];
