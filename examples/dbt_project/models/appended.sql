{{ config(materialized='incremental', incremental_strategy='append') }}
select id from {{ ref('orders') }}
