/**
 * Whether something that locations depend on can be used: `undefined`, or why not, in words for the operator and without
 * secrets. Cheap and in bounded time: probes come often, from anybody who may ask.
 */
export type Check = () => Promise<string | undefined>;
