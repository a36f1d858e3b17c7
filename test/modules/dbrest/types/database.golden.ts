export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]

export type Database = {
  __InternalSupabase: {
    PostgrestVersion: "14"
  }
  other: {
    Tables: {
      things: {
        Row: {
          id: number
          size: Database["public"]["Enums"]["size"] | null
        }
        Insert: {
          id: number
          size?: Database["public"]["Enums"]["size"] | null
        }
        Update: {
          id?: number
          size?: Database["public"]["Enums"]["size"] | null
        }
        Relationships: []
      }
    }
    Views: {
      [_ in never]: never
    }
    Functions: {
      [_ in never]: never
    }
    Enums: {
      colour: "red" | "green"
    }
    CompositeTypes: {
      pair: {
        a: number | null
        b: number | null
      }
    }
  }
  public: {
    Tables: {
      clients: {
        Row: {
          colours: Database["other"]["Enums"]["colour"][] | null
          id: number
          "key-account": boolean
          labels: Json | null
          mail: string
          meta: Json | null
          mood: Database["public"]["Enums"]["mood"] | null
          moods: Database["public"]["Enums"]["mood"][] | null
          name: string
          pair: Database["other"]["CompositeTypes"]["pair"] | null
        }
        Insert: {
          colours?: Database["other"]["Enums"]["colour"][] | null
          id?: never
          "key-account"?: boolean
          labels?: Json | null
          mail: string
          meta?: Json | null
          mood?: Database["public"]["Enums"]["mood"] | null
          moods?: Database["public"]["Enums"]["mood"][] | null
          name: string
          pair?: Database["other"]["CompositeTypes"]["pair"] | null
        }
        Update: {
          colours?: Database["other"]["Enums"]["colour"][] | null
          id?: never
          "key-account"?: boolean
          labels?: Json | null
          mail?: string
          meta?: Json | null
          mood?: Database["public"]["Enums"]["mood"] | null
          moods?: Database["public"]["Enums"]["mood"][] | null
          name?: string
          pair?: Database["other"]["CompositeTypes"]["pair"] | null
        }
        Relationships: []
      }
      details: {
        Row: {
          notes: string | null
          of: Database["public"]["Tables"]["projects"]["Row"] | null
          project_id: number
        }
        Insert: {
          notes?: string | null
          of?: Database["public"]["Tables"]["projects"]["Row"] | null
          project_id: number
        }
        Update: {
          notes?: string | null
          of?: Database["public"]["Tables"]["projects"]["Row"] | null
          project_id?: number
        }
        Relationships: [
          {
            foreignKeyName: "details_project_id_fkey"
            columns: ["project_id"]
            isOneToOne: true
            referencedRelation: "project_list"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "details_project_id_fkey"
            columns: ["project_id"]
            isOneToOne: true
            referencedRelation: "projects"
            referencedColumns: ["id"]
          },
        ]
      }
      nodes: {
        Row: {
          a: number
          b: number
          shade: Json | null
          up_a: number | null
          up_b: number | null
        }
        Insert: {
          a: number
          b: number
          shade?: Json | null
          up_a?: number | null
          up_b?: number | null
        }
        Update: {
          a?: number
          b?: number
          shade?: Json | null
          up_a?: number | null
          up_b?: number | null
        }
        Relationships: [
          {
            foreignKeyName: "nodes_up_a_up_b_fkey"
            columns: ["up_a", "up_b"]
            isOneToOne: false
            referencedRelation: "nodes"
            referencedColumns: ["a", "b"]
          },
        ]
      }
      nothing: {
        Row: {}
        Insert: {}
        Update: {}
        Relationships: []
      }
      "odd / näme": {
        Row: {
          "1": number | null
          'a "b"': string | null
          select: number | null
        }
        Insert: {
          "1"?: number | null
          'a "b"'?: string | null
          select?: number | null
        }
        Update: {
          "1"?: number | null
          'a "b"'?: string | null
          select?: number | null
        }
        Relationships: []
      }
      parted: {
        Row: {
          at: string | null
          id: number
        }
        Insert: {
          at?: string | null
          id: number
        }
        Update: {
          at?: string | null
          id?: number
        }
        Relationships: []
      }
      project_tags: {
        Row: {
          project_id: number
          tag: string
        }
        Insert: {
          project_id: number
          tag: string
        }
        Update: {
          project_id?: number
          tag?: string
        }
        Relationships: [
          {
            foreignKeyName: "a_name_of_a_key_that_is_too_long_to_fit"
            columns: ["tag"]
            isOneToOne: false
            referencedRelation: "tags"
            referencedColumns: ["name"]
          },
          {
            foreignKeyName: "project_tags_project_id_fkey"
            columns: ["project_id"]
            isOneToOne: false
            referencedRelation: "project_list"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "project_tags_project_id_fkey"
            columns: ["project_id"]
            isOneToOne: false
            referencedRelation: "projects"
            referencedColumns: ["id"]
          },
        ]
      }
      projects: {
        Row: {
          client_id: number | null
          cost: Database["public"]["CompositeTypes"]["price"] | null
          data: string | null
          during: string | null
          id: number
          lead_id: number
          made: string
          matrix: number[] | null
          name: string
          shout: string | null
          took: string | null
          label: string | null
        }
        Insert: {
          client_id?: number | null
          cost?: Database["public"]["CompositeTypes"]["price"] | null
          data?: string | null
          during?: string | null
          id?: number
          lead_id: number
          made?: string
          matrix?: number[] | null
          name: string
          shout?: never
          took?: string | null
        }
        Update: {
          client_id?: number | null
          cost?: Database["public"]["CompositeTypes"]["price"] | null
          data?: string | null
          during?: string | null
          id?: number
          lead_id?: number
          made?: string
          matrix?: number[] | null
          name?: string
          shout?: never
          took?: string | null
        }
        Relationships: [
          {
            foreignKeyName: "led_by"
            columns: ["lead_id"]
            isOneToOne: false
            referencedRelation: "clients"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "led_by"
            columns: ["lead_id"]
            isOneToOne: false
            referencedRelation: "names"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "led_by"
            columns: ["lead_id"]
            isOneToOne: false
            referencedRelation: "replaced"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "clients"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "names"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "replaced"
            referencedColumns: ["id"]
          },
        ]
      }
      tags: {
        Row: {
          name: string
        }
        Insert: {
          name: string
        }
        Update: {
          name?: string
        }
        Relationships: []
      }
    }
    Views: {
      counted: {
        Row: {
          client_id: number | null
          n: number | null
        }
        Relationships: [
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "clients"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "names"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "replaced"
            referencedColumns: ["id"]
          },
        ]
      }
      names: {
        Row: {
          id: number | null
          name: string | null
        }
        Relationships: []
      }
      project_list: {
        Row: {
          client_id: number | null
          id: number | null
          name: string | null
          shout: string | null
          title: string | null
        }
        Insert: {
          client_id?: number | null
          id?: number | null
          name?: string | null
          shout?: never
          title?: never
        }
        Update: {
          client_id?: number | null
          id?: number | null
          name?: string | null
          shout?: never
          title?: never
        }
        Relationships: [
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "clients"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "names"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "projects_client_id_fkey"
            columns: ["client_id"]
            isOneToOne: false
            referencedRelation: "replaced"
            referencedColumns: ["id"]
          },
        ]
      }
      replaced: {
        Row: {
          id: number | null
          loud: string | null
        }
        Insert: {
          id?: number | null
          loud?: string | null
        }
        Update: {
          id?: number | null
          loud?: string | null
        }
        Relationships: []
      }
    }
    Functions: {
      add: { Args: { a: number; b?: number; c?: number[] }; Returns: number }
      all_clients: {
        Args: never
        Returns: {
          colours: Database["other"]["Enums"]["colour"][] | null
          id: number
          "key-account": boolean
          labels: Json | null
          mail: string
          meta: Json | null
          mood: Database["public"]["Enums"]["mood"] | null
          moods: Database["public"]["Enums"]["mood"][] | null
          name: string
          pair: Database["other"]["CompositeTypes"]["pair"] | null
        }[]
        SetofOptions: {
          from: "*"
          to: "clients"
          isOneToOne: false
          isSetofReturn: true
        }
      }
      anything: { Args: { x: Json }; Returns: Record<string, unknown> }
      each: {
        Args: { hs: Json }
        Returns: {
          key: string
          value: string
        }[]
      }
      first_client: {
        Args: { at_least: Database["public"]["Enums"]["mood"] }
        Returns: {
          colours: Database["other"]["Enums"]["colour"][] | null
          id: number
          "key-account": boolean
          labels: Json | null
          mail: string
          meta: Json | null
          mood: Database["public"]["Enums"]["mood"] | null
          moods: Database["public"]["Enums"]["mood"][] | null
          name: string
          pair: Database["other"]["CompositeTypes"]["pair"] | null
        }
        SetofOptions: {
          from: "*"
          to: "clients"
          isOneToOne: true
          isSetofReturn: false
        }
      }
      label: {
        Args: { "": Database["public"]["Tables"]["projects"]["Row"] }
        Returns: {
          error: true
        } & "the function public.label with parameter or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache"
      }
      leader: {
        Args: { "": Database["public"]["Tables"]["projects"]["Row"] }
        Returns: {
          colours: Database["other"]["Enums"]["colour"][] | null
          id: number
          "key-account": boolean
          labels: Json | null
          mail: string
          meta: Json | null
          mood: Database["public"]["Enums"]["mood"] | null
          moods: Database["public"]["Enums"]["mood"][] | null
          name: string
          pair: Database["other"]["CompositeTypes"]["pair"] | null
        }
        SetofOptions: {
          from: "projects"
          to: "clients"
          isOneToOne: true
          isSetofReturn: true
        }
      }
      led: {
        Args: { "": Database["public"]["Tables"]["clients"]["Row"] }
        Returns: {
          client_id: number | null
          cost: Database["public"]["CompositeTypes"]["price"] | null
          data: string | null
          during: string | null
          id: number
          lead_id: number
          made: string
          matrix: number[] | null
          name: string
          shout: string | null
          took: string | null
        }[]
        SetofOptions: {
          from: "clients"
          to: "projects"
          isOneToOne: false
          isSetofReturn: true
        }
      }
      moods: { Args: never; Returns: Database["public"]["Enums"]["mood"][] }
      nothing: { Args: { x: Json }; Returns: undefined }
      of_columns: {
        Args: { q: string }
        Returns: {
          "m-n": string[]
          n: number
          size: Database["public"]["Enums"]["size"]
        }[]
      }
      of_price: {
        Args: never
        Returns: Database["public"]["CompositeTypes"]["price"]
        SetofOptions: {
          from: "*"
          to: "price"
          isOneToOne: true
          isSetofReturn: false
        }
      }
      one_client: {
        Args: { wanted: number }
        Returns: {
          colours: Database["other"]["Enums"]["colour"][] | null
          id: number
          "key-account": boolean
          labels: Json | null
          mail: string
          meta: Json | null
          mood: Database["public"]["Enums"]["mood"] | null
          moods: Database["public"]["Enums"]["mood"][] | null
          name: string
          pair: Database["other"]["CompositeTypes"]["pair"] | null
        }
        SetofOptions: {
          from: "*"
          to: "clients"
          isOneToOne: true
          isSetofReturn: true
        }
      }
      optional:
        | { Args: { a?: number }; Returns: number }
        | {
            Args: never
            Returns: {
              error: true
            } & "Could not choose the best candidate function between: public.optional(), public.optional(a => integer). Try renaming the parameters or the function itself in the database so function overloading can be resolved"
          }
      outs: {
        Args: { a: number; c: number }
        Returns: {
          b: string
          c: number
        }
      }
      over:
        | {
            Args: { a: number }
            Returns: {
              error: true
            } & "Could not choose the best candidate function between: public.over(a => integer), public.over(a => text). Try renaming the parameters or the function itself in the database so function overloading can be resolved"
          }
        | {
            Args: { a: string }
            Returns: {
              error: true
            } & "Could not choose the best candidate function between: public.over(a => integer), public.over(a => text). Try renaming the parameters or the function itself in the database so function overloading can be resolved"
          }
        | { Args: { b: boolean }; Returns: boolean }
        | { Args: never; Returns: undefined }
      pairs: {
        Args: never
        Returns: Database["other"]["CompositeTypes"]["pair"][]
      }
      prices: {
        Args: { ids: number[] }
        Returns: Database["public"]["CompositeTypes"]["price"][]
        SetofOptions: {
          from: "*"
          to: "price"
          isOneToOne: false
          isSetofReturn: true
        }
      }
      secret: { Args: { a: number }; Returns: number }
      things: {
        Args: never
        Returns: {
          id: number
          size: Database["public"]["Enums"]["size"] | null
        }[]
      }
      whole: { Args: { "": string }; Returns: string }
      worth: {
        Args: { p: Database["public"]["Tables"]["projects"]["Row"] }
        Returns: number
      }
    }
    Enums: {
      mood:
        | "sad"
        | 'it\'s "ok"'
        | "very very happy about all of this"
        | "and about that one as well"
      size: "s" | "m"
    }
    CompositeTypes: {
      price: {
        amount: number | null
        currency: string | null
        sizes: Database["public"]["Enums"]["size"][] | null
      }
    }
  }
}

type DefaultSchemaName = "public"

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

export const Constants = {
  other: {
    Enums: {
      colour: ["red", "green"],
    },
  },
  public: {
    Enums: {
      mood: [
        "sad",
        'it\'s "ok"',
        "very very happy about all of this",
        "and about that one as well",
      ],
      size: ["s", "m"],
    },
  },
} as const
