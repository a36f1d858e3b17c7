import type { ModuleRule } from '../../../contract/index.ts';
import type { DbrestConfig } from '../directives/index.ts';

const LOCATION =
  'location /api/ { dbrest_pass postgresql://authenticator@127.0.0.1/app; dbrest_schemas api; dbrest_anon_role anon; }';

const dbrestViewUnsecured: ModuleRule<DbrestConfig> = {
  id: 'GW657',
  slug: 'dbrest-view-unsecured',
  severity: 'warning',
  live: true,
  summary: 'a view that shows rows whatever the policies of their table say',
  why: 'A view reads its tables as its owner, to whom row security may not apply, and a materialized view has the rows of its last refresh. Whoever may select from it sees them all.',
  fix: 'From PostgreSQL 15 on: alter view … set (security_invoker = true). Revoke the privilege on materialized views, and on views before that version; if it is intended, say so: # gw-ignore GW657: ….',
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
  why: 'Its condition reads a table whose policies, or the policies of others that those read, read the first table again: PostgreSQL refuses each request for it with 42P17.',
  fix: 'Read the other table in a function that is "security definer", and call that in the policy.',
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
  why: 'The names of the arguments choose among functions of one name, not their types. Another one takes whatever names this one takes, so that each call is refused (PGRST203).',
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

/** Rules about what policies and overloads of a database come to. */
export const SECURITY_RULES: readonly ModuleRule<DbrestConfig>[] = [
  dbrestViewUnsecured,
  dbrestPolicyRecursive,
  dbrestOverloadAmbiguous,
];
