import { directivesFor, readers } from '../../../config/index.ts';
import type { DbrestConfig } from '../config.ts';
import { EVERYWHERE, role, keySource, rolePath } from './readers.ts';

/** Who asks. */
export const tokens = directivesFor<DbrestConfig>()({
  dbrest_anon_role: {
    contexts: EVERYWHERE,
    args: role,
    into: 'anonRole',
    summary: 'Database role of unauthenticated requests.',
    source: 'gw',
  },
  dbrest_jwt_secret: {
    contexts: EVERYWHERE,
    args: keySource,
    into: 'jwtKeys',
    secret: 'whole',
    summary: 'Verifies bearer tokens: the secret of HS256, a JSON Web Key or a set of them.',
    source: 'gw',
  },
  dbrest_jwt_role_claim: {
    contexts: EVERYWHERE,
    args: rolePath,
    into: 'jwtRolePath',
    default: ['role'],
    defaultText: 'role',
    summary: 'Claim of a token that names the database role: a name, or a path that may end in a filter.',
    source: 'gw',
  },
  dbrest_jwt_audience: {
    contexts: EVERYWHERE,
    args: readers.text,
    into: 'jwtAudience',
    summary: 'Audience that tokens with an "aud" claim must be meant for.',
    source: 'gw',
  },
  dbrest_jwt_invalid: {
    contexts: EVERYWHERE,
    args: readers.oneOf('anon', 'reject'),
    into: 'jwtInvalid',
    default: 'anon',
    summary: 'What a request with a bad token gets: the anonymous role, or 401.',
    source: 'gw',
  },
});
