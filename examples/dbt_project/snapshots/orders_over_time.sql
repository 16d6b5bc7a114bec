{% snapshot orders_over_time %}
{{ config(target_schema='shop', unique_key='id', strategy='check', check_cols=['total']) }}
select * from {{ ref('orders') }}
{% endsnapshot %}
