import type { Rule } from '../../rule.ts';
import { dbrestSuperuser } from './superuser.ts';
import { dbrestSuperuserAnon } from './superuser-anon.ts';
import { dbrestNoAuth } from './no-auth.ts';
import { dbrestSecretShort } from './secret-short.ts';
import { dbrestSecretExample } from './secret-example.ts';
import { dbrestAlgNone } from './alg-none.ts';
import { dbrestNoSchema } from './no-schema.ts';
import { dbrestSystemSchema } from './system-schema.ts';
import { dbrestPlainRemote } from './plain-remote.ts';
import { dbrestWritesOpen } from './writes-open.ts';
import { dbrestNoLimit } from './no-limit.ts';
import { dbrestPool } from './pool.ts';
import { dbrestNoTimeout } from './no-timeout.ts';
import { dbrestPrefixSlash } from './prefix-slash.ts';
import { dbrestDsn } from './dsn.ts';
import { dbrestOpenapiPublic } from './openapi-public.ts';
import { dbrestAnonLogin } from './anon-login.ts';
import { dbrestRoleSuperuser } from './role-superuser.ts';
import { dbrestAnonMissing } from './anon-missing.ts';
import { dbrestTableOpen } from './table-open.ts';
import { dbrestSchemaMissing } from './schema-missing.ts';
import { dbrestServerOld } from './server-old.ts';
import { dbrestEmbedUnindexed } from './embed-unindexed.ts';
import { databaseUnreachable } from './unreachable.ts';

/** REST over PostgreSQL: GW6xx. */
export const DBREST_RULES: readonly Rule[] = [
  dbrestSuperuser,
  dbrestSuperuserAnon,
  dbrestNoAuth,
  dbrestSecretShort,
  dbrestSecretExample,
  dbrestAlgNone,
  dbrestNoSchema,
  dbrestSystemSchema,
  dbrestPlainRemote,
  dbrestWritesOpen,
  dbrestNoLimit,
  dbrestPool,
  dbrestNoTimeout,
  dbrestPrefixSlash,
  dbrestDsn,
  dbrestOpenapiPublic,
  dbrestAnonLogin,
  dbrestRoleSuperuser,
  dbrestAnonMissing,
  dbrestTableOpen,
  dbrestSchemaMissing,
  dbrestServerOld,
  dbrestEmbedUnindexed,
  databaseUnreachable,
];
