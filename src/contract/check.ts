/**
 * Whether something that locations depend on can be used: `undefined`, or why not, in words for the operator and without
 * secrets or paths. Whoever calls it bounds how often, and how long it may take.
 */
export type Check = () => Promise<string | undefined>;
