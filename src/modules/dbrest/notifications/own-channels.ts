/** Writes of other clients, for caches: the payload is `schema.relation`, or `*` for all. */
export const CACHE_CHANNEL = 'gw_cache';

/** Changes of rows, as the triggers of `gw db setup --watch` announce them. */
export const CHANGES_CHANNEL = 'gw_changes';

/** Changes of the schema: the channels of PostgREST and of gw. */
export const SCHEMA_CHANNELS: readonly string[] = ['pgrst', 'gw'];

/** What the gateway listens to for itself. */
export const OWN_CHANNELS: readonly string[] = [...SCHEMA_CHANNELS, CACHE_CHANNEL];
