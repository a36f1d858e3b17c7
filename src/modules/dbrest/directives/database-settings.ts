import { directivesFor, readers } from '../../../config/index.ts';

/** Whether settings in the database replace directives of the file. */
export interface DatabaseSettingsConfig {
  readonly databaseSettings: boolean;
}

/** Settings in the database. */
export const databaseSettingsDirectives = directivesFor<DatabaseSettingsConfig>()({
  dbrest_config: {
    contexts: ['http', 'server', 'location'],
    args: readers.flag,
    into: 'databaseSettings',
    default: false,
    defaultText: 'off',
    summary:
      'Whether settings "pgrst.*" and "app.settings.*" that "alter role ... set" gives the login role replace those of the file, as db-config of PostgREST. They are read with the schema, and on NOTIFY pgrst, \'reload config\'; until then requests get 503.',
    source: 'gw',
  },
});
