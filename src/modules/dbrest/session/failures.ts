import { hasLostObject, type WireError } from '../../../postgres/index.ts';

/** Returns whether the server closes the connection after an error, or the session can no longer be relied upon. */
export function endsSession(error: WireError): boolean {
  const { code = '', severity } = error;
  if (severity === 'FATAL' || code.startsWith('08') || /^57P0[1-3]$/.test(code)) return true;
  return isMisnamed(error) || hasLostType(error);
}

/** What is gone is a type: PL/pgSQL looks up the types of its variables once in each session. */
export function hasLostType(error: WireError): boolean {
  return hasLostObject(error) && error.message.startsWith('cache lookup failed for type ');
}

/**
 * Returns whether a prepared statement of the batch itself, and not of a function, is not what it should be, or outdated ("cached
 * plan must not change result type").
 */
export function lostStatements(error: WireError): boolean {
  if (error.where !== undefined) return false;
  return isMisnamed(error) || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery');
}

/** SQLSTATEs of a name that stands for no statement, or already for one, and of values for another statement. */
function isMisnamed({ code, severity }: WireError): boolean {
  return code === '26000' || code === '42P05' || (code === '08P01' && severity === 'ERROR');
}

/**
 * Returns whether values or types did not fit: data exceptions, and what the server says when it analyses an old statement anew
 * ("operator does not exist", "cache lookup failed for type"). A missing privilege depends on no type.
 */
export function mayHaveOldTypes({ code = '' }: WireError): boolean {
  return /^(?:0A000|22|42|XX000)/.test(code) && code !== '42501';
}
