/** The types that shorten the use of `Database`, as applications import them; the first line names the default schema. */
export const SHORTHANDS = `type DefaultSchemaName = "public"

type Schemas = Omit<Database, "__InternalSupabase">

type InSchema = { schema: keyof Schemas }

type Relations<S extends keyof Schemas> = Schemas[S]["Tables"] &
  Schemas[S]["Views"]

export type Tables<
  Table extends keyof Relations<DefaultSchemaName> | InSchema,
  Name extends (Table extends InSchema
    ? keyof Relations<Table["schema"]>
    : never) = never,
> = (
  Table extends InSchema
    ? Relations<Table["schema"]>[Name]
    : Table extends keyof Relations<DefaultSchemaName>
      ? Relations<DefaultSchemaName>[Table]
      : never
) extends { Row: infer Row }
  ? Row
  : never

export type TablesInsert<
  Table extends keyof Schemas[DefaultSchemaName]["Tables"] | InSchema,
  Name extends (Table extends InSchema
    ? keyof Schemas[Table["schema"]]["Tables"]
    : never) = never,
> = (
  Table extends InSchema
    ? Schemas[Table["schema"]]["Tables"][Name]
    : Table extends keyof Schemas[DefaultSchemaName]["Tables"]
      ? Schemas[DefaultSchemaName]["Tables"][Table]
      : never
) extends { Insert: infer Insert }
  ? Insert
  : never

export type TablesUpdate<
  Table extends keyof Schemas[DefaultSchemaName]["Tables"] | InSchema,
  Name extends (Table extends InSchema
    ? keyof Schemas[Table["schema"]]["Tables"]
    : never) = never,
> = (
  Table extends InSchema
    ? Schemas[Table["schema"]]["Tables"][Name]
    : Table extends keyof Schemas[DefaultSchemaName]["Tables"]
      ? Schemas[DefaultSchemaName]["Tables"][Table]
      : never
) extends { Update: infer Update }
  ? Update
  : never

export type Enums<
  Enum extends keyof Schemas[DefaultSchemaName]["Enums"] | InSchema,
  Name extends (Enum extends InSchema
    ? keyof Schemas[Enum["schema"]]["Enums"]
    : never) = never,
> = Enum extends InSchema
  ? Schemas[Enum["schema"]]["Enums"][Name]
  : Enum extends keyof Schemas[DefaultSchemaName]["Enums"]
    ? Schemas[DefaultSchemaName]["Enums"][Enum]
    : never

export type CompositeTypes<
  Composite extends
    keyof Schemas[DefaultSchemaName]["CompositeTypes"] | InSchema,
  Name extends (Composite extends InSchema
    ? keyof Schemas[Composite["schema"]]["CompositeTypes"]
    : never) = never,
> = Composite extends InSchema
  ? Schemas[Composite["schema"]]["CompositeTypes"][Name]
  : Composite extends keyof Schemas[DefaultSchemaName]["CompositeTypes"]
    ? Schemas[DefaultSchemaName]["CompositeTypes"][Composite]
    : never
`;
