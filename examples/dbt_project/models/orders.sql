{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
          post_hook=["OPTIMIZE {{ this }}", "VACUUM {{ this }} RETAIN 240 HOURS DRY RUN"]) }}
select id, customer, cast(day as date) as day, total + {{ var('more', 0) }} as total from {{ ref('raw_orders') }}
{% if is_incremental() %} where id >= 2 {% endif %}
