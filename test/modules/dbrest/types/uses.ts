/**
 * The types that an application infers from the golden types with supabase-js and postgrest-js. Only compiled: a wrong
 * assertion, and an expected error that does not come, fail the compilation.
 */
import { PostgrestClient } from '@supabase/postgrest-js';
import { createClient } from '@supabase/supabase-js';
import type {
  CompositeTypes,
  Constants,
  Database,
  Enums,
  Json,
  Tables,
  TablesInsert,
  TablesUpdate,
} from './database.golden.ts';

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : { is: A; wanted: B };
/** Fails to compile unless the argument is `true`. */
declare function holds<T extends true>(): T;
/** The rows or values that a request returns. */
type Data<Request> =
  Request extends PromiseLike<infer R> ? Exclude<(R & { data: unknown })['data'], null> : never;

export const supabase = createClient<Database>('http://localhost', 'key');
export const rest = new PostgrestClient<Database>('http://localhost/rest/v1');
export const other = new PostgrestClient<Database, { PostgrestVersion: '14' }, 'other'>('http://localhost', {
  schema: 'other',
});

type Mood = 'sad' | 'it\'s "ok"' | 'very very happy about all of this' | 'and about that one as well';

export function reads(): void {
  const columns = supabase.from('clients').select('id, name, mood, "key-account", meta, mail');
  holds<
    Equal<
      Data<typeof columns>,
      {
        id: number;
        name: string;
        mood: Mood | null;
        'key-account': boolean;
        meta: Json | null;
        mail: string;
      }[]
    >
  >();
  const computed = supabase.from('projects').select('name, label').single();
  holds<Equal<Data<typeof computed>, { name: string; label: string | null }>>();
  const all = supabase.from('projects').select().single();
  holds<Equal<'label' extends keyof Data<typeof all> ? true : false, false>>();
  holds<Equal<Data<typeof all>['during'], string | null>>();
  const view = rest.from('project_list').select('id, title');
  holds<Equal<Data<typeof view>, { id: number | null; title: string | null }[]>>();
  const things = other.from('things').select('size').single();
  holds<Equal<Data<typeof things>, { size: 's' | 'm' | null }>>();
  // @ts-expect-error There is no such table.
  rest.from('nix');
  // @ts-expect-error The table is in another schema.
  rest.from('things');
  const wrong = rest.from('clients').select('nix').single();
  // @ts-expect-error There is no such column.
  holds<Equal<Data<typeof wrong>, { nix: string }>>();
  // @ts-expect-error The value of a filter has the type of its column.
  rest.from('clients').select().eq('id', 'one');
}

export function embeds(): void {
  const parents = supabase
    .from('projects')
    .select('id, clients!projects_client_id_fkey(name), lead:clients!led_by(name)');
  holds<
    Equal<Data<typeof parents>, { id: number; clients: { name: string } | null; lead: { name: string } }[]>
  >();
  const children = supabase.from('clients').select('name, projects!led_by(name)');
  holds<Equal<Data<typeof children>, { name: string; projects: { name: string }[] }[]>>();
  const one = supabase.from('projects').select('details(notes)').single();
  holds<Equal<Data<typeof one>, { details: { notes: string | null } | null }>>();
  const many = supabase.from('projects').select('tags(name)').single();
  holds<Equal<Data<typeof many>, { tags: { name: string }[] }>>();
  const functions = supabase.from('projects').select('leader(name)').single();
  holds<Equal<Data<typeof functions>, { leader: { name: string } | null }>>();
  const sets = supabase.from('clients').select('led(name)').single();
  holds<Equal<Data<typeof sets>, { led: { name: string }[] }>>();
  const spread = supabase.from('clients').select('...projects!led_by(name)').single();
  holds<Equal<Data<typeof spread>, { name: string[] }>>();
  const counted = supabase.from('clients').select('projects!led_by(count)').single();
  holds<Equal<Data<typeof counted>, { projects: { count: number }[] }>>();
}

export function writes(): void {
  void rest.from('clients').insert({ name: 'Ann', mail: 'a@b', moods: ['sad'], pair: { a: 1, b: null } });
  void rest.from('clients').update({ mood: null }).maxAffected(1);
  void rest.from('project_list').insert({ name: 'x' });
  void rest.from('replaced').update({ loud: 'x' });
  // @ts-expect-error The name must be given.
  void rest.from('clients').insert({ mail: 'a@b' });
  // @ts-expect-error The column is always generated.
  void rest.from('clients').insert({ id: 1, name: 'Ann', mail: 'a@b' });
  // @ts-expect-error The column is computed.
  void rest.from('projects').update({ shout: 'X' });
  // @ts-expect-error There is no such mood.
  void rest.from('clients').update({ mood: 'angry' });
  // @ts-expect-error The column of the view is an expression.
  void rest.from('project_list').update({ title: 'x' });
  // @ts-expect-error The view cannot be written.
  void rest.from('counted').insert({ n: 1 });
}

export function calls(): void {
  const sum = supabase.rpc('add', { a: 1, c: [1.5] });
  holds<Equal<Data<typeof sum>, number>>();
  const names = supabase.rpc('all_clients').select('name');
  holds<Equal<Data<typeof names>, { name: string }[]>>();
  const first = supabase.rpc('first_client', { at_least: 'sad' });
  holds<Equal<Data<typeof first>['name'], string>>();
  const one = supabase.rpc('one_client', { wanted: 1 });
  holds<Equal<Data<typeof one>[number]['name'], string>>();
  const price = supabase.rpc('of_price');
  holds<Equal<Data<typeof price>['sizes'], ('s' | 'm')[] | null>>();
  const table = supabase.rpc('of_columns', { q: 'x' });
  holds<Equal<Data<typeof table>, { n: number; 'm-n': string[]; size: 's' | 'm' }[]>>();
  const moods = supabase.rpc('moods');
  holds<Equal<Data<typeof moods>, Mood[]>>();
  const chosen = supabase.rpc('over', { b: true });
  holds<Equal<Data<typeof chosen>, boolean>>();
  const things = supabase.rpc('things');
  holds<Equal<Data<typeof things>, { id: number; size: 's' | 'm' | null }[]>>();
  // @ts-expect-error The argument is missing.
  void supabase.rpc('add', {});
  // @ts-expect-error The argument is not a number.
  void supabase.rpc('add', { a: 'one' });
  // @ts-expect-error A procedure cannot be called.
  void supabase.rpc('proceeds', { n: 1 });
  const ambiguous = supabase.rpc('over', { a: 1 });
  // @ts-expect-error Two functions take this argument.
  holds<Equal<Data<typeof ambiguous>, number>>();
}

export function shorthands(): void {
  holds<Equal<Tables<'clients'>['name'], string>>();
  holds<Equal<Tables<'counted'>['n'], number | null>>();
  holds<Equal<Tables<{ schema: 'other' }, 'things'>['id'], number>>();
  holds<Equal<TablesInsert<'tags'>, { name: string }>>();
  holds<Equal<TablesInsert<{ schema: 'other' }, 'things'>['id'], number>>();
  holds<Equal<TablesUpdate<'tags'>, { name?: string }>>();
  holds<Equal<Enums<'mood'>, Mood>>();
  holds<Equal<Enums<{ schema: 'other' }, 'colour'>, 'red' | 'green'>>();
  holds<Equal<CompositeTypes<'price'>['currency'], string | null>>();
  holds<Equal<CompositeTypes<{ schema: 'other' }, 'pair'>['a'], number | null>>();
  holds<Equal<(typeof Constants)['public']['Enums']['size'], readonly ['s', 'm']>>();
  // @ts-expect-error There is no such table.
  holds<Equal<Tables<'nix'>, never>>();
}
