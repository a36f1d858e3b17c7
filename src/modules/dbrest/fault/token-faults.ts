import { DbrestFault } from './dbrest-fault.ts';

/** PGRST300, 500: a token that nothing can check, where a bad token is to be refused. */
export function noSecret(): DbrestFault {
  return new DbrestFault({ code: 'PGRST300', status: 500, message: 'Server lacks JWT secret' });
}

/** PGRST301, 401: the token cannot be decoded, or no key vouches for it. */
export function undecodableToken(message: string, details: string | null = null): DbrestFault {
  return tokenFault('PGRST301', message, details);
}

/** PGRST302, 401. */
export function anonymousDisabled(): DbrestFault {
  return new DbrestFault({
    code: 'PGRST302',
    status: 401,
    message: 'Anonymous access is disabled',
    headers: ['WWW-Authenticate', 'Bearer'],
  });
}

/** PGRST303, 401: the token is genuine, but what it claims does not hold. */
export function badClaims(message: string): DbrestFault {
  return tokenFault('PGRST303', message, null);
}

/** 22023, 401, worded as PostgreSQL does: a role that no `set role` may ever see. */
export function noRole(role: string): DbrestFault {
  return new DbrestFault({
    code: '22023',
    status: 401,
    message: `role "${role}" does not exist`,
    headers: ['WWW-Authenticate', 'Bearer'],
  });
}

/** 42501, 403, worded as PostgreSQL does. */
export function roleNotPermitted(role: string): DbrestFault {
  return new DbrestFault({
    code: '42501',
    status: 403,
    message: `permission denied to set role "${role}"`,
  });
}

function tokenFault(code: string, message: string, details: string | null): DbrestFault {
  const challenge = `Bearer error="invalid_token", error_description="${message}"`;
  return new DbrestFault({ code, status: 401, message, details, headers: ['WWW-Authenticate', challenge] });
}
